"""URLs and addresses that webhooks may go to, and those that they may not."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from engine.webhooks.addresses import (
    AddressRefused,
    ReceiverAddress,
    WebhookUrlRefused,
    check_addresses,
    is_public,
    parse_target,
)

PUBLIC = ["8.8.8.8", "1.1.1.1", "192.0.1.1", "172.32.0.1", "2606:4700:4700::1111", "2001:4860:4860::8888", "2a00::1"]
NOT_PUBLIC = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1"),
    *("172.31.255.255", "192.0.0.1", "192.0.0.8", "192.0.0.9", "192.0.0.170", "192.0.2.1", "192.88.99.1"),
    *("192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255"),
    *("240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::8.8.8.8", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1"),
    *("2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2002:808:808::1"),
    *("3fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "ff02::1"),
    *("5f00::1", "4000::1"),
]


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_may_be_connected_to(text: str) -> None:
    assert is_public(ip_address(text))
    check_addresses([ip_address(text)], tls=True, allow_loopback=False)


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_all_others_may_not(text: str) -> None:
    assert not is_public(ip_address(text))
    with pytest.raises(AddressRefused, match="not a public address"):
        check_addresses([ip_address(text)], tls=True, allow_loopback=False)


def test_one_address_that_may_not_be_connected_to_condemns_the_others() -> None:
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        check_addresses([ip_address("8.8.8.8"), ip_address("10.0.0.1")], tls=True, allow_loopback=False)


@pytest.mark.parametrize("text", ["127.0.0.1", "127.8.9.10", "::1"])
def test_with_the_setting_for_development_this_machine_may_be_over_http_too(text: str) -> None:
    for tls in (True, False):
        check_addresses([ip_address(text)], tls=tls, allow_loopback=True)


@pytest.mark.parametrize("text", ["10.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "0.0.0.0"])
def test_that_setting_opens_no_other_address(text: str) -> None:
    with pytest.raises(AddressRefused):
        check_addresses([ip_address(text)], tls=True, allow_loopback=True)


def test_http_is_for_this_machine_only() -> None:
    with pytest.raises(AddressRefused, match="use https"):
        check_addresses([ip_address("8.8.8.8")], tls=False, allow_loopback=True)


@pytest.mark.parametrize(
    ("url", "target", "authority"),
    [
        ("https://a.example", ReceiverAddress(True, "a.example", 443, "/"), "a.example"),
        ("https://A.Example:8443/x/y?z=1&w", ReceiverAddress(True, "a.example", 8443, "/x/y?z=1&w"), "a.example:8443"),
        ("https://[2606:4700::1]:444/", ReceiverAddress(True, "2606:4700::1", 444, "/"), "[2606:4700::1]:444"),
        (
            "https://xn--bcher-kva.example/?q",
            ReceiverAddress(True, "xn--bcher-kva.example", 443, "/?q"),
            "xn--bcher-kva.example",
        ),
    ],
)
def test_urls_are_taken_apart(url: str, target: ReceiverAddress, authority: str) -> None:
    assert parse_target(url, allow_loopback=False) == target
    assert target.authority == authority


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://a.example/", "https only"),
        ("https://user:secret@a.example/", "user or a password"),
        ("https://secret@a.example/", "user or a password"),
        ("https://a.example/x#secret", "after #"),
        ("ftp://a.example/", "whole URL"),
        ("//a.example/", "whole URL"),
        ("/hook", "whole URL"),
        ("a.example/hook", "whole URL"),
        ("https:///hook", "whole URL"),
        ("https://a.example:0/", "whole URL"),
        ("https://a.example:99999/", "not a URL"),
        ("https://[::1/", "not a URL"),
        ("https://a example/", "printable ASCII"),
        ("https://a.example/\r\nx: y", "printable ASCII"),
        ("https://bücher.example/", "Punycode"),
        ("https://a.example/" + "x" * 2048, "2,048"),
        ("", "printable ASCII"),
        ("https://-a.example/", "not a host name"),
        ("https://a..example/", "not a host name"),
        ("https://a%2eexample/", "not a host name"),
        ("https://127.0.0.1/", "not a public address"),
        ("https://[::1]/", "not a public address"),
        ("https://[::ffff:10.0.0.1]/", "not a public address"),
        ("https://169.254.169.254/latest/meta-data", "not a public address"),
    ],
)
def test_urls_that_no_webhook_may_have_are_refused_without_repeating_them(url: str, reason: str) -> None:
    with pytest.raises(WebhookUrlRefused, match=reason) as refused:
        parse_target(url, allow_loopback=False)
    assert "secret" not in str(refused.value)
