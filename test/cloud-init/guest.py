"""Lets cloud-init make the users of machines in images, and says who can log in then.

Standard input: a JSON list of {"userdata": text, "image": name}. Standard output: a JSON list in the same order of {"error": text or null,
"users": {login: {"shell", "groups", "password", "keys"}}}: `error` is why cloud-init gave up, `password` is null where none can be used.

Modules and distribution are cloud-init's own. What they run is not: no user of this machine is touched. The commands obey the strictest
rules of the shadow and BusyBox tools in use; a shadow 4.13 was seen to answer so.
"""

import copy
import importlib
import json
import logging
import re
import sys
import tempfile
from inspect import signature
from pathlib import Path
from unittest import mock

from cloudinit import distros, helpers, subp, util
from cloudinit.config import cc_set_passwords, cc_users_groups
from images import IMAGES, PEOPLE

NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
NO_SHELL = "/usr/sbin/nologin"


class Guest:
    """Users and groups of a machine, and the commands that change them."""

    def __init__(self, users, groups, folder):
        self.groups = {group: set() for group in groups}
        self.users = {user: self.account(user, "/bin/bash" if user in PEOPLE else NO_SHELL) for user in users}
        self.shadow = Path(folder) / "shadow"
        self.note()

    @staticmethod
    def account(group, shell):
        return {"group": group, "shell": shell, "password": None, "locked": True, "keys": []}

    def note(self):
        self.shadow.write_text("".join(f"{user}:!:1:0:99999:7:::\n" for user in self.users))

    def run(self, args, data=None, **_more):
        args = list(args)
        command = getattr(self, args[0].replace("-", "_"), None)
        if command is not None:
            problem = command(args[1:], data)
            if problem is not None:
                raise subp.ProcessExecutionError(cmd=args, stderr=problem[1], exit_code=problem[0])
        return subp.SubpResult("", "")

    def useradd(self, args, _data):
        login, options = args[0], options_of(args[1:], ("--create-home", "--no-create-home", "--no-user-group", "--system", "-m", "-M"))
        others = [group for group in options.get("--groups", "").split(",") if group]
        primary = options.get("--gid")
        if not NAME.fullmatch(login):
            return 3, f"invalid user name '{login}'"
        if login in self.users:
            return 9, f"user '{login}' already exists"
        for group in [*others, *([primary] if primary else [])]:
            if group not in self.groups:
                return 6, f"group '{group}' does not exist"
        if primary is None and "--no-user-group" not in options:
            if login in self.groups:
                return 9, f"group {login} exists - if you want to add this user to that group, use -g."
            primary = login
            self.groups[login] = set()
        if re.search("[:\n]", options.get("--comment", "")):
            return 3, "invalid comment"
        self.users[login] = self.account(primary or "users", options.get("--shell", "/bin/sh"))
        for group in others:
            self.groups[group].add(login)
        return self.note()

    def groupadd(self, args, _data):
        if not NAME.fullmatch(args[0]):
            return 3, f"'{args[0]}' is not a valid group name"
        if args[0] in self.groups:
            return 9, f"group '{args[0]}' already exists"
        self.groups[args[0]] = set()
        return None

    def adduser(self, args, data):
        """BusyBox's: the login comes last, and options are short."""
        options = options_of(args[:-1], ("-D", "-H", "-S"))
        if "-G" not in options and args[-1] in self.groups:
            return 1, f"group '{args[-1]}' in use"
        named = {"-g": "--comment", "-G": "--gid", "-s": "--shell"}
        return self.useradd([args[-1], *(word for key in named if key in options for word in (named[key], options[key]))], data)

    def addgroup(self, args, data):
        if len(args) == 1:
            return self.groupadd(args, data)
        if args[0] not in self.users or args[1] not in self.groups:
            return 1, "unknown user or group"
        self.groups[args[1]].add(args[0])
        return None

    def chpasswd(self, args, data):
        for line in (data if isinstance(data, str) else data.decode()).splitlines():
            login, password = line.split(":", 1)
            if login not in self.users:
                return 1, f"user '{login}' does not exist"
            self.users[login].update(password=password, locked=False)
        return None

    def passwd(self, args, _data):
        return self.lock(args[-1], "-l" in args)

    def usermod(self, args, _data):
        return self.lock(args[-1], "--lock" in args) if {"--lock", "--unlock"} & set(args) else None

    def lock(self, login, is_locked):
        if login not in self.users:
            return 1, f"user '{login}' does not exist"
        self.users[login]["locked"] = is_locked
        return None

    def keys(self, keys, login, *_more, **_options):
        self.users[login]["keys"] = sorted(keys)

    def seen(self):
        return {
            login: {
                "shell": user["shell"],
                "groups": sorted({user["group"], *(group for group, members in self.groups.items() if login in members)}),
                "password": None if user["locked"] else user["password"],
                "keys": user["keys"],
            }
            for login, user in self.users.items()
            if user["shell"] != NO_SHELL
        }


def options_of(args, flags):
    options, rest = {}, iter(args)
    for word in rest:
        options[word] = True if word in flags else next(rest)
    return options


def first_start(document):
    distribution, users, groups, default_user = IMAGES[document["image"]]
    with tempfile.TemporaryDirectory() as folder:
        guest = Guest(users, groups, folder)
        paths = helpers.Paths({"cloud_dir": f"{folder}/cloud", "run_dir": f"{folder}/run"})
        config = {"default_user": {"lock_passwd": True, "shell": "/bin/bash", "sudo": ["ALL=(ALL) NOPASSWD:ALL"], **copy.deepcopy(default_user)}}
        distro = importlib.import_module(f"cloudinit.distros.{distribution}").Distro(distribution, config, paths)
        distro.shadow_fn = str(guest.shadow)
        cloud = mock.Mock(distro=distro)
        cloud.get_public_ssh_keys.return_value = []
        error = None
        # What is left of writing to this machine.
        with (
            mock.patch.object(subp, "subp", guest.run),
            mock.patch.object(subp, "which", lambda name, *_more: None if distribution == "alpine" and name in ("useradd", "groupadd") else name),
            mock.patch.object(util, "is_user", lambda name: name in guest.users),
            mock.patch.object(util, "is_group", lambda name: name in guest.groups),
            mock.patch.object(distros.ssh_util, "setup_user_keys", guest.keys),
            mock.patch.object(distros.Distro, "write_sudo_rules", lambda *_args, **_more: None),
            mock.patch.object(cc_set_passwords, "handle_ssh_pwauth", lambda *_args: None),
        ):
            cfg = util.mergemanydict([util.load_yaml(document["userdata"]), {"users": ["default"]}])
            for name, module in (("users_groups", cc_users_groups), ("set_passwords", cc_set_passwords)):
                try:
                    handle(module, name, cfg, cloud)
                except Exception as problem:  # Later modules run all the same.
                    error = error or " ".join(str(problem).split())[:300]
        return {"error": error, "users": guest.seen()}


def handle(module, name, cfg, cloud):
    """Older versions want a logger too."""
    has_log = "log" in signature(module.handle).parameters
    module.handle(name, cfg, cloud, *([logging.getLogger(name)] if has_log else []), [])


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    json.dump([first_start(document) for document in json.load(sys.stdin)], sys.stdout)
