"""The reference of the API's problems, made from the kinds that it answers with."""

from riven.api.problem_kinds import PROBLEM_KINDS

INTRODUCTION = """\
# Problems of the HTTP API

Every refusal is an [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problem with the media type
`application/problem+json`:

```json
{
  "type": "/problems/invalid_request",
  "title": "Invalid request",
  "status": 422,
  "detail": "the body is not what is wanted here: there is no field `runing` here; did you mean 'running'?",
  "instance": "/api/v1/workspaces",
  "errors": [
    {
      "path": "limits.runing",
      "code": "unknown_field",
      "message": "there is no field `runing` here; did you mean 'running'?"
    }
  ]
}
```

- `type` is stable: tools may rely on it. The server shows at that address what stands below.
- `detail` says what is wrong here, and what to do. It is for people and may change.
- `instance` is the path that was asked for.
- `errors` lists every field that is wrong: `path` is its dotted place in the body (`executions[57].input.amount`), or the
  name of a parameter; it is empty for the body as a whole. `code` is one of those of
  [documents](problems.md) (`unknown_field`, `missing_field`, `wrong_type`, `invalid_value`, ...); problems of documents
  come with `line`, `column` and `severity` besides.
- 429 and 503 carry `Retry-After` in seconds, 401 `WWW-Authenticate`, 405 `Allow`.

A request is judged in this order: credential (401), rate (429), address (404), role (403), query (422, 400), body (413,
415, 400, 422). So nobody learns from an answer what he may not see. A workspace that exists but is not the caller's is
403, one that does not exist 404; likewise executions and workflows.

A stack trace is never sent. What riven did wrong itself is a 500 with an id, under which its log tells more
(`request_failed`).
"""


def http_problems_page() -> str:
    lines = ["| status | `type` | meaning | what to do |", "|---|---|---|---|"]
    for kind in sorted(PROBLEM_KINDS.values(), key=lambda each: each.status):
        cells = (str(kind.status), f"`/problems/{kind.code}`", kind.meaning, kind.advice)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return f"{INTRODUCTION}\n## Kinds\n\n" + "\n".join(lines) + "\n"
