"""Lets cloud-init take user data apart, and merge the cloud-configs in it.

Standard input: a JSON list of {"userdata": text} and of {"make": [[type, text], ...]}. Standard output: a JSON list in the same order of {"config": the
merged cloud-config, "scripts": {name: text}, "warnings": [text], "hostnames": {distribution: name}, "hooks": [text]}, and of the archive that its make-mime writes.
"""

import importlib
import io
import json
import logging
import sys
import tempfile
from inspect import signature
from pathlib import Path
from unittest import mock

from cloudinit import handlers, helpers, subp, user_data, util
from cloudinit.cmd.devel.make_mime import create_mime_message
from cloudinit.config import cc_set_hostname
from cloudinit.handlers import boot_hook, cloud_config, jinja_template, shell_script
from cloudinit.settings import PER_INSTANCE

DISTRIBUTIONS = ("debian", "rhel")


class Warnings(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def merge(text, folder):
    paths = helpers.Paths({"cloud_dir": f"{folder}/cloud", "run_dir": f"{folder}/run"}, ds=mock.Mock(get_instance_id=lambda: "i-1"))
    for name in ("cloud/instance/scripts", "cloud/instances/i-1", "cloud/handlers", "run"):
        Path(folder, name).mkdir(parents=True)
    util.write_file(paths.get_runpath("instance_data_sensitive"), json.dumps({"v1": {"region": "lab"}}))
    warnings = Warnings()
    log = logging.getLogger()
    log.addHandler(warnings)
    # As it is kept in the guest.
    message = user_data.convert_string(user_data.UserDataProcessor(paths).process(text.encode()).as_string())
    config_handler = cloud_config.CloudConfigPartHandler(paths)
    hooks = []
    hook_handler = boot_hook.BootHookPartHandler(paths, mock.Mock(get_instance_id=lambda: "i-1"))
    parts = [config_handler, shell_script.ShellScriptPartHandler(paths), hook_handler]
    with mock.patch.object(boot_hook, "BootHookPartHandler", mock.Mock()):
        parts.append(jinja_template.JinjaTemplatePartHandler(paths, sub_handlers=list(parts)))
    known = helpers.ContentHandlers()
    for part in parts:
        known.register(part)
        handlers.call_begin(part, None, PER_INSTANCE)
    data = {"handlers": known, "handlerdir": f"{folder}/cloud/handlers", "data": None, "frequency": PER_INSTANCE, "handlercount": 0, "excluded": []}
    with mock.patch.object(subp, "subp", lambda args, **_more: hooks.append(Path(args[0]).read_text())):
        handlers.walk(message, handlers.walker_callback, data)
    for part in parts:
        handlers.call_end(part, None, PER_INSTANCE)
    log.removeHandler(warnings)
    config = util.load_yaml(Path(paths.get_ipath("cloud_config")).read_text())
    scripts = {file.name: file.read_text() for file in Path(folder, "cloud/instance/scripts").iterdir()}
    names = {name: hostname(config, name, paths) for name in DISTRIBUTIONS}
    return {"config": config, "scripts": scripts, "warnings": warnings.texts, "hostnames": names, "hooks": hooks}


def hostname(config, name, paths):
    """The name that a guest of the distribution would get."""
    distro = importlib.import_module(f"cloudinit.distros.{name}").Distro(name, {}, paths)
    chosen = []
    cloud = mock.Mock(distro=distro, get_cpath=lambda _name: tempfile.mkdtemp(dir=paths.cloud_dir))
    cloud.get_hostname.return_value = mock.Mock(hostname="of-the-metadata")
    has_log = "log" in signature(cc_set_hostname.handle).parameters
    with mock.patch.object(distro, "set_hostname", lambda short, fqdn=None: chosen.append(distro._select_hostname(short, fqdn))):
        cc_set_hostname.handle("set_hostname", config, cloud, *([logging.getLogger()] if has_log else []), [])
    return chosen[0] if chosen else None


def answer(document):
    if "make" in document:
        files = [(io.StringIO(text), f"part-{at}", kind.split("/")[1]) for at, (kind, text) in enumerate(document["make"])]
        return create_mime_message(files)[0].as_string()
    with tempfile.TemporaryDirectory() as folder:
        return merge(document["userdata"], folder)


if __name__ == "__main__":
    logging.getLogger().setLevel(logging.WARNING)
    json.dump([answer(document) for document in json.load(sys.stdin)], sys.stdout)
