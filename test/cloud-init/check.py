"""Reads user data and network data as cloud-init does in a guest, and says what it thinks of them.

Standard input: a JSON list of {"userdata": text, "networkdata": text or null}. Standard output: a JSON list in the same order of
{"problems": [text], "config": the user data as read, "logins": {login: its settings}, "network": the network data as read}.
"""

import copy
import json
import sys
import tempfile
from pathlib import Path

# Its absence would only make cloud-init skip the check, in silence.
import jsonschema  # noqa: F401
from cloudinit import user_data, util
from cloudinit.config import schema
from cloudinit.distros import rhel, ug_util
from cloudinit.net import eni, netplan, network_state, sysconfig

# What distributions have their network configured by; the others write where they like, not only below a folder.
RENDERERS = {
    "eni": eni.Renderer,
    "netplan": netplan.Renderer,
    "sysconfig": lambda: sysconfig.Renderer(rhel.Distro.renderer_configs["sysconfig"]),
}

# How each of them says that an interface gets its address of IPv4 from a DHCP server.
ASKS_DHCP = {"eni": " inet dhcp\n", "netplan": "dhcp4: true\n", "sysconfig": "BOOTPROTO=dhcp\n"}


class Distro:
    """What cloud-init asks its distribution about users."""

    @staticmethod
    def get_default_user():
        return {"name": "distro-default"}


def check(document, whole_schema):
    result = {"problems": [], "config": None, "logins": None, "network": None}
    try:
        read_user_data(document["userdata"], whole_schema, result)
        if document.get("networkdata") is not None:
            read_network_data(document["networkdata"], result)
    except Exception as error:  # Whatever it is, the guest would stop there.
        result["problems"].append(f"{type(error).__name__}: {error}")
    return result


def read_user_data(text, whole_schema, result):
    message = user_data.convert_string(text.encode())
    if message.get_content_type() != user_data.NOT_MULTIPART_TYPE:
        result["problems"].append("cloud-init takes it for an e-mail")
    if util.fully_decoded_payload(message) != text:
        result["problems"].append("cloud-init reads another text")
    config = util.load_yaml(text)
    result["config"] = config
    schema.validate_cloudconfig_schema(config, whole_schema, strict=True)
    logins, _groups = ug_util.normalize_users_groups(copy.deepcopy(config), Distro())
    result["logins"] = logins


def read_network_data(text, result):
    config = util.load_yaml(text)
    result["network"] = config
    for name, renderer in RENDERERS.items():
        rendered = render(config, renderer)
        for address in addresses(config):
            if address not in rendered:
                result["problems"].append(f"{name} does not configure {address}")
        asking = sum(1 for ethernet in config["ethernets"].values() if ethernet["dhcp4"])
        if rendered.count(ASKS_DHCP[name]) != asking:
            result["problems"].append(f"{name} does not ask a DHCP server on {asking} interfaces")


def render(config, renderer):
    """The files of a distribution's network configuration, one after another. Writes to a temporary folder alone."""
    with tempfile.TemporaryDirectory() as folder:
        instance = renderer()
        state = network_state.parse_net_config_data(copy.deepcopy(config), skip_broken=False)
        instance.render_network_state(state, target=folder)
        return "\n".join(file.read_text() for file in Path(folder).rglob("*") if file.is_file())


def addresses(config):
    all_of_them = [address for ethernet in config["ethernets"].values() for address in ethernet.get("addresses", [])]
    return [address.split("/")[0] for address in all_of_them]


if __name__ == "__main__":
    whole = schema.get_schema()
    json.dump([check(document, whole) for document in json.load(sys.stdin)], sys.stdout)
