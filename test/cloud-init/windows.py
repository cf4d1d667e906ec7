"""What cloudbase-init does to Windows with user data and network data: its own code, on a system that only notes what it is told."""

import json
import logging
import os
import sys
import tempfile

from cloudbaseinit import conf
from cloudbaseinit.metadata.services import configdrive
from cloudbaseinit.osutils import factory
from cloudbaseinit.plugins.common import execcmd, networkconfig, sethostname, userdata, userdatautils
from cloudbaseinit.utils import hostname

conf.CONF([], project="cloudbase-init")
errors = []


class Errors(logging.Handler):
    def emit(self, record):
        errors.append(record.getMessage())


logging.getLogger().handlers = [Errors(level=logging.ERROR)]


class Windows:
    """Notes what changes Windows. Only Administrator and administrators exist."""

    def __init__(self):
        self.calls = []

    def user_exists(self, name):
        return name.lower() == "administrator"

    def group_exists(self, name):
        return name.lower() == "administrators"

    def get_maximum_password_length(self):
        return 20

    def generate_random_password(self, length):
        return "random"

    def get_default_script_exec_header(self):
        return "rem cmd"

    def get_user_home(self, name):
        return os.path.join(home, name)

    def get_network_adapter_name_by_mac_address(self, mac):
        return "Ethernet " + mac

    def __getattr__(self, name):
        def note(*args, **more):
            self.calls.append([name, *args])
            return name == "set_host_name"

        return note


def start(document):
    system = Windows()
    factory.get_os_utils = lambda: system
    scripts = []

    class Noted:
        def __init__(self, program):
            self.program = program

        def from_data(self, data):
            return lambda: scripts.append([self.program, data.decode()])

    def executed(command):
        if command is None:
            errors.append("no program takes the script")
        else:
            command()
        return 0

    noted = [script._replace(executor=Noted(script.executor.__name__)) for script in ORIGINAL]
    userdatautils._SCRIPTS = tuple(noted)
    userdatautils.execute_user_data_script = lambda data: executed(userdatautils.get_command(data))
    from cloudbaseinit.plugins.common import fileexecutils

    fileexecutils.exec_file = lambda path: executed(userdatautils.get_command_from_path(path))
    with tempfile.TemporaryDirectory() as drive:
        latest = os.path.join(drive, "openstack", "latest")
        os.makedirs(latest)
        files = {"meta_data.json": json.dumps({"hostname": "dc", "uuid": "1"}), "user_data": document["userdata"]}
        if document.get("networkdata"):
            files["network_data.json"] = document["networkdata"]
        for name, text in files.items():
            with open(os.path.join(latest, name), "w", encoding="utf-8") as file:
                file.write(text)
        service = configdrive.ConfigDriveService()
        service._metadata_path = drive
        errors.clear()
        networkconfig.NetworkConfigPlugin().execute(service, {})
        userdata.UserDataPlugin().execute(service, {})
    return {"calls": system.calls, "scripts": scripts, "errors": list(errors)}


ORIGINAL = userdatautils._SCRIPTS
with tempfile.TemporaryDirectory() as home:
    hostname.platform.node = lambda: "dc"
    json.dump([start(document) for document in json.load(sys.stdin)], sys.stdout)
