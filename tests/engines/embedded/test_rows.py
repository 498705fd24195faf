from tests.engines.embedded.kit import Running, by_path


async def test_nodes_are_listed_in_document_order_with_those_that_never_started():
    result = await Running().run(
        """
        name: order
        nodes:
          last: {type: echo, needs: [each]}
          each:
            type: for_each
            needs: [{node: choose, outcome: "true"}]
            with: {items: [1, 2], concurrency: 1}
            body:
              nodes:
                second: {type: echo, needs: [first]}
                first: {type: echo}
          never:
            type: for_each
            needs: [{node: choose, outcome: "false"}]
            with: {items: [1]}
            body: {nodes: {inner: {type: echo}}}
          choose: {type: condition, with: {if: "true"}}
        """
    )

    assert [node["path"] for node in result["nodes"]] == [
        "last",
        "each",
        "each[0].second",
        "each[0].first",
        "each[1].second",
        "each[1].first",
        "never",
        "choose",
    ]
    never = by_path(result)["never"]
    assert (never["status"], never["skipReason"]) == ("SKIPPED", "not_chosen")
    assert (never["attempt"], never["attempts"], never["startedAt"], never["finishedAt"]) == (
        0,
        [],
        None,
        None,
    )


async def test_items_are_listed_by_their_number():
    result = await Running().run(
        """
        name: many
        nodes:
          each:
            type: for_each
            with: {items: "{{ input.list }}"}
            body: {nodes: {a: {type: echo, with: {value: "{{ index }}"}}}, output: "{{ steps.a.output }}"}
        output: "{{ steps.each.output }}"
        """,
        {"list": list(range(12))},
    )

    assert [node["path"] for node in result["nodes"]][1:] == [f"each[{n}].a" for n in range(12)]
    assert result["output"] == list(range(12))
