"""The codes of problems: stable names that tools may rely on, each with its meaning and what to do about it.

docs/reference/problems.md is this table; a test holds them together. Codes of graphs are named in `core.validation`,
those of expressions in `expressions.errors`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from riven.core.validation import GraphCode


class Code(StrEnum):
    # the text
    TOO_LARGE = "too_large"
    ENCODING = "encoding"
    CONTROL_CHARACTER = "control_character"
    NUL_CHARACTER = "nul_character"
    LONE_SURROGATE = "lone_surrogate"
    EMPTY_DOCUMENT = "empty_document"
    NOT_A_MAPPING = "not_a_mapping"
    YAML_SYNTAX = "yaml_syntax"
    JSON_SYNTAX = "json_syntax"
    SEVERAL_DOCUMENTS = "several_documents"
    YAML_TAG = "yaml_tag"
    MERGE_KEY = "merge_key"
    INVALID_KEY = "invalid_key"
    DUPLICATE_KEY = "duplicate_key"
    UNKNOWN_ALIAS = "unknown_alias"
    ALIAS_RECURSION = "alias_recursion"
    ALIAS_EXPANSION = "alias_expansion"
    TOO_DEEP = "too_deep"
    INTEGER_RANGE = "integer_range"
    NOT_FINITE = "not_finite"
    TOO_MANY_PROBLEMS = "too_many_problems"
    # fields
    UNKNOWN_FIELD = "unknown_field"
    MISSING_FIELD = "missing_field"
    WRONG_TYPE = "wrong_type"
    INVALID_VALUE = "invalid_value"
    INVALID_NAME = "invalid_name"
    OTHER_NAME = "other_name"
    # nodes
    UNKNOWN_TYPE = "unknown_type"
    UNKNOWN_FUNCTION = "unknown_function"
    TEMPLATE_NOT_ALLOWED = "template_not_allowed"
    SETTING_NOT_ALLOWED = "setting_not_allowed"
    UNUSED_SETTING = "unused_setting"
    BODY_NOT_ALLOWED = "body_not_allowed"
    # what expressions read
    UNKNOWN_STEP = "unknown_step"
    NOT_AN_ANCESTOR = "not_an_ancestor"
    MAYBE_SKIPPED = "maybe_skipped"
    UNKNOWN_CONSTANT = "unknown_constant"
    ROOT_NOT_HERE = "root_not_here"
    SECRET_NOT_ALLOWED = "secret_not_allowed"  # noqa: S105 - the name of a problem
    # calls
    UNKNOWN_WORKFLOW = "unknown_workflow"
    CALL_RECURSION = "call_recursion"
    # the input
    INVALID_SCHEMA = "invalid_schema"
    # what is stored
    DAMAGED_DOCUMENT = "damaged_document"


MEANINGS: Final[Mapping[str, tuple[str, str]]] = {
    Code.TOO_LARGE: ("The text has more than 4 MiB.", "Split the workflow by `call`."),
    Code.ENCODING: ("The file is not UTF-8 (nor UTF-16 with its mark).", "Save it as UTF-8."),
    Code.CONTROL_CHARACTER: (
        "A control character stands in the text.",
        "Delete it, or write it as an escape in double quotes.",
    ),
    Code.NUL_CHARACTER: ("A text holds the character NUL, which cannot be stored.", "Take it out."),
    Code.LONE_SURROGATE: ("A text holds half of a surrogate pair.", "Write the whole pair, or the character itself."),
    Code.EMPTY_DOCUMENT: ("There is nothing in the document.", "Begin with `name:` and `nodes:`."),
    Code.NOT_A_MAPPING: ("The document is a list or a single value.", "Begin with `name:` and `nodes:`."),
    Code.YAML_SYNTAX: ("The text is no YAML.", "Mend the place that is named."),
    Code.JSON_SYNTAX: (
        "The text begins as JSON (a brace, then a double quote), but is none.",
        "Mend the place that is named.",
    ),
    Code.SEVERAL_DOCUMENTS: ("The file holds more than one YAML document.", "Give each workflow a file of its own."),
    Code.YAML_TAG: ("A YAML tag such as `!!str` is used.", "Leave it out."),
    Code.MERGE_KEY: ("The merge key `<<` is used, which YAML 1.2 does not have.", "Write the fields out."),
    Code.INVALID_KEY: (
        "The name of a field is no text; nearly always a placeholder without quotes.",
        'Put a text that begins with `{{` in quotes: `"{{ ... }}"`.',
    ),
    Code.DUPLICATE_KEY: ("A field stands twice in one mapping.", "Keep one of the two."),
    Code.UNKNOWN_ALIAS: ("A YAML alias has no anchor before it.", "Set the anchor, or write the value out."),
    Code.ALIAS_RECURSION: ("A YAML alias stands inside of what it repeats.", "Write the value out."),
    Code.ALIAS_EXPANSION: ("YAML aliases repeat more than 4 MiB.", "Write less by aliases."),
    Code.TOO_DEEP: ("Values are nested deeper than 100 levels.", "Flatten them."),
    Code.INTEGER_RANGE: ("An integer is beyond 64 bits.", "Write it as a text, in quotes."),
    Code.NOT_FINITE: ("A number is NaN or infinite.", "Use a finite one."),
    Code.TOO_MANY_PROBLEMS: ("More problems were found than are told.", "Mend those that are told first."),
    Code.UNKNOWN_FIELD: ("A field does not exist here.", "Write it as suggested, or delete it."),
    Code.MISSING_FIELD: ("A field that is needed is missing.", "Add it."),
    Code.WRONG_TYPE: ("A value is of another kind than its field wants.", "Write it as the message says."),
    Code.INVALID_VALUE: ("A value is not one that its field can have.", "Write it as the message says."),
    Code.INVALID_NAME: (
        "The key of a node, or the name of the workflow, is not written as one.",
        "Keys: letters, digits and `_`, no digit first, no word that CEL reserves. Names: small letters, digits, `-`.",
    ),
    Code.OTHER_NAME: (
        "The document calls itself otherwise than the address under which it is kept (warning).",
        "Write the name of the address.",
    ),
    Code.UNKNOWN_TYPE: (
        "No installed package has this type of node, or its package is broken.",
        "Write the type as suggested, or install its package.",
    ),
    Code.UNKNOWN_FUNCTION: (
        "No registered function has this name.",
        "Write it as suggested, or load its module.",
    ),
    Code.TEMPLATE_NOT_ALLOWED: (
        "A placeholder stands where the value must be known before anything runs, or in the name of a field (warning).",
        "Write the value out.",
    ),
    Code.SETTING_NOT_ALLOWED: (
        "The setting does not go with this type of node: `retry` on a container or a wait, `timeout` on a wait.",
        "Take it away, or set it where the message says.",
    ),
    Code.UNUSED_SETTING: ("A setting has no effect here (warning).", "Take it away."),
    Code.BODY_NOT_ALLOWED: ("The node has a `body`, but its type is no loop.", "Take the body away, or use `for_each` or `repeat`."),
    Code.UNKNOWN_STEP: ("An expression reads a step that does not exist.", "Write its key as suggested."),
    Code.NOT_AN_ANCESTOR: (
        "An expression reads a step that need not have run before this one.",
        "Add an edge from that step to this one.",
    ),
    Code.MAYBE_SKIPPED: (
        "An expression reads the output of a step that may be skipped or have failed (warning).",
        "Read it with `?`: `steps.?x.?output.orValue(...)`.",
    ),
    Code.UNKNOWN_CONSTANT: ("An expression reads a constant that `vars` does not have.", "Write it as suggested, or add it."),
    Code.ROOT_NOT_HERE: (
        "`item` or `index` outside of a for_each body, or `iteration` outside of a repeat.",
        "Use it inside only.",
    ),
    Code.SECRET_NOT_ALLOWED: (
        "`secrets` stands outside of the `with` of an action, or in a condition.",
        "Read the secret in the `with` of the action that needs it.",
    ),
    Code.UNKNOWN_WORKFLOW: ("The called workflow is not there.", "Give its file, or write its name as it is."),
    Code.CALL_RECURSION: ("Workflows call each other in a circle.", "Take one of the calls away; `repeat` does something again."),
    Code.INVALID_SCHEMA: (
        "The schema of the input is no JSON Schema 2020-12, or refers to something outside of the document.",
        "Mend the place that is named.",
    ),
    Code.DAMAGED_DOCUMENT: ("A stored version cannot be read any more.", "Publish the document anew."),
    GraphCode.TOO_MANY_NODES: ("The document has more than 10,000 nodes, bodies included.", "Split it by `call`."),
    GraphCode.TOO_MANY_LEVELS: ("Bodies and calls are nested deeper than 8 levels.", "Take an inner part out into a step of its own."),
    GraphCode.DUPLICATE_NODE: ("Two nodes of a stored graph have one key.", "Publish the document anew."),
    GraphCode.UNKNOWN_NODE: ("An edge names a node that its scope does not have.", "Write the key as suggested."),
    GraphCode.SELF_EDGE: ("An edge leads from a node to itself.", "Take it away; `repeat` does something again."),
    GraphCode.DUPLICATE_EDGE: ("An edge stands twice, with the same ends and outcome.", "Take one away."),
    GraphCode.CYCLE: ("Nodes wait for each other in a circle.", "Take one of the edges that are named away."),
    GraphCode.UNKNOWN_OUTCOME: ("The source of an edge cannot leave by this outcome.", "Write one of those that are listed."),
    GraphCode.RESERVED_LABEL: (
        "A case is called `failure`, `done`, `always`, `skipped` or `default`, which mean something of their own.",
        "Call it otherwise.",
    ),
    GraphCode.DUPLICATE_LABEL: ("Two cases of a switch have one name.", "Rename one."),
    GraphCode.UNUSED_CONDITION: ("No edge sets out from a condition (warning).", "Add edges, by outcome `true` or `false`."),
    GraphCode.UNUSED_CASE: ("No edge follows a case of a switch (warning).", "Add an edge with this outcome."),
    GraphCode.IMPOSSIBLE_JOIN: (
        "A join can never hold: `atLeast` wants more edges than there are, or outcomes that exclude each other.",
        "Lower the number, or use `any` or `none_failed`.",
    ),
    GraphCode.UNUSED_JOIN: ("A join stands on a node where no edge leads (warning).", "Take it away, or add edges."),
    GraphCode.EMPTY_BODY: ("A loop has no body, or one without nodes.", "Give it a `body` with `nodes`."),
    GraphCode.UNRESOLVED_CALL: ("A stored graph lacks the workflow that it calls.", "Publish the document anew."),
    GraphCode.INVALID_SETTING: ("A stored graph has a number that no document may have.", "Publish the document anew."),
}  # fmt: skip
"""What each code means, and what to do."""
