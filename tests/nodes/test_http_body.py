import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.nodes.http_body import (
    BodyBrokenError,
    BodyError,
    BodyTooLargeError,
    NotJsonError,
    is_json,
    json_of_body,
    read_body,
    text_of_body,
)


async def pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def raw_deflate(body: bytes) -> bytes:
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    return pack.compress(body) + pack.flush()


class TestReading:
    @pytest.mark.parametrize("size", [1, 3, 1_000_000])
    @pytest.mark.parametrize("body", [b"", b"x", b"hello " * 10_000])
    async def test_every_packing_in_pieces_of_every_size(self, size: int, body: bytes) -> None:
        packed = {
            "": body, "identity": body, "gzip": gzip.compress(body), "X-GZIP": gzip.compress(body),
            "deflate": zlib.compress(body),
        }  # fmt: skip
        for coding, sent in packed.items():
            assert await read_body(pieces(sent, size), coding, 100_000) == body
        assert await read_body(pieces(raw_deflate(body), size), "deflate", 100_000) == body

    async def test_several_gzip_members_are_one_body(self) -> None:
        sent = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0\0"
        assert await read_body(pieces(sent, 5), "gzip", 100) == b"one two"

    async def test_an_empty_body_needs_no_unpacking(self) -> None:
        assert await read_body(pieces(b"", 1), "gzip", 100) == b""

    @pytest.mark.parametrize("coding", ["gzip", "deflate"])
    async def test_half_a_packed_body_is_broken(self, coding: str) -> None:
        sent = (gzip.compress if coding == "gzip" else zlib.compress)(bytes(range(256)) * 20)
        with pytest.raises(BodyBrokenError):
            await read_body(pieces(sent[: len(sent) // 2], 7), coding, 100_000)

    @pytest.mark.parametrize("coding", ["gzip", "deflate"])
    async def test_garbage_is_broken(self, coding: str) -> None:
        with pytest.raises(BodyBrokenError):
            await read_body(pieces(b"\x1f\x8bgarbage and more of it", 7), coding, 100_000)

    @pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "nonsense"])
    async def test_other_packings_are_refused(self, coding: str) -> None:
        with pytest.raises(BodyError, match="not asked for"):
            await read_body(pieces(b"x", 1), coding, 100)

    @pytest.mark.parametrize("coding", ["", "gzip", "deflate"])
    @pytest.mark.parametrize("size", [1, 64, 1_000_000])
    async def test_the_limit_holds_to_the_byte(self, coding: str, size: int) -> None:
        pack = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress}[coding]
        assert len(await read_body(pieces(pack(b"a" * 1_000), size), coding, 1_000)) == 1_000
        with pytest.raises(BodyTooLargeError):
            await read_body(pieces(pack(b"a" * 1_001), size), coding, 1_000)

    async def test_a_bomb_never_unfolds_in_memory(self) -> None:
        bomb = gzip.compress(bytes(64 * 1024 * 1024))
        tracemalloc.start()
        try:
            with pytest.raises(BodyTooLargeError):
                await read_body(pieces(bomb, len(bomb)), "gzip", 1024 * 1024)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 8 * 1024 * 1024


class TestText:
    @pytest.mark.parametrize(
        ("body", "content_type", "text"),
        [
            ("ü".encode(), "text/plain", "ü"),
            ("ü".encode(), "text/plain; charset=UTF-8", "ü"),
            (b"\xef\xbb\xbfx", "text/plain", "x"),
            (b"\xfc", "text/plain; charset=iso-8859-1", "ü"),
            (b"\xfc", 'text/plain; Charset = "ISO-8859-1"', "ü"),
            ("ü".encode("utf-16"), "text/plain; charset=utf-16", "ü"),
            (b"\x80", "text/plain; charset=windows-1252", "€"),
            (b"\xff!", "text/plain", "\ufffd!"),
            (b"x", "text/plain; charset=nonsense", "x"),
            (b"\x89PNG\0", "image/png", "\ufffdPNG\ufffd"),
        ],
    )
    def test_in_its_own_charset(self, body: bytes, content_type: str, text: str) -> None:
        assert text_of_body(body, content_type) == text

    @pytest.mark.parametrize(
        "codec", ["hex", "base64", "zlib", "rot13", "idna", "punycode", "unicode_escape", "undefined"]
    )
    def test_codecs_that_are_no_charsets_are_not_used(self, codec: str) -> None:
        assert text_of_body(b"abc\\n", f"text/plain; charset={codec}") == "abc\\n"

    @given(st.binary(max_size=50), st.text(max_size=50))
    def test_any_bytes_in_any_charset_are_some_text(self, body: bytes, charset: str) -> None:
        assert isinstance(text_of_body(body, f"text/plain; charset={charset}"), str)


class TestJson:
    @pytest.mark.parametrize(
        ("content_type", "expected"),
        [
            ("application/json", True),
            ("Application/JSON; charset=utf-8", True),
            ("application/problem+json", True),
            ("text/json", True),
            ("text/html", False),
            ("application/jsonp", False),
            ("", False),
        ],
    )
    def test_is_told_by_the_media_type(self, content_type: str, expected: bool) -> None:  # noqa: FBT001
        assert is_json(content_type) is expected

    def test_is_read_in_its_charset(self) -> None:
        assert json_of_body(b'{"a": 1, "b": [1.5, null]}', "") == {"a": 1, "b": [1.5, None]}
        assert json_of_body(b"\xef\xbb\xbf[1]", "") == [1]
        assert json_of_body('"ü"'.encode("utf-16"), "application/json; charset=utf-16") == "ü"

    def test_nothing_is_null(self) -> None:
        assert json_of_body(b" \n", "") is None

    @pytest.mark.parametrize("body", [b"<html>", b"{", b"NaN", b'"\xff"', b"[" * 100_000, b"1 2"])
    def test_what_is_not_json_says_so(self, body: bytes) -> None:
        with pytest.raises(NotJsonError):
            json_of_body(body, "")

    @pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**30, -(10**300)])
    def test_integers_beyond_64_bits_are_not_bent_into_floats(self, number: int) -> None:
        with pytest.raises(BodyError, match="64 bits"):
            json_of_body(b'{"a": [%d]}' % number, "")

    @pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
    def test_the_largest_integers_stay_exact(self, number: int) -> None:
        assert json_of_body(b"[%d]" % number, "") == [number]

    def test_digits_in_text_are_no_number(self) -> None:
        assert json_of_body(b'["99999999999999999999999999"]', "") == ["99999999999999999999999999"]

    def test_depth_is_bounded(self) -> None:
        assert json_of_body(b"[" * 100 + b"]" * 100, "")
        with pytest.raises(BodyError, match="levels"):
            json_of_body(b"[" * 101 + b"]" * 101, "")
