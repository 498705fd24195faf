import socket

import pytest

from riven.devstack.errors import DevstackError
from riven.devstack.ports import _client_ports, check_port, choose_port, is_free


def test_a_chosen_port_is_free_and_never_given_to_clients() -> None:
    low, high = _client_ports()
    for _ in range(50):
        port = choose_port()
        assert is_free(port)
        assert not low <= port <= high


def test_a_taken_port_is_refused_by_its_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert not is_free(port)
        with pytest.raises(DevstackError, match=f"port {port} .* taken"):
            check_port(port)


def test_a_port_with_old_connections_alone_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = server.accept()
            accepted.close()  # the server's side ends first, and is remembered by the system for a while
            client.recv(1)
    assert is_free(port)
