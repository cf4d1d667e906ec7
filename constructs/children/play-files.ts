/** Folder in the container of a play in which the files of `playFiles()` are, beside the inventory with the logins. */
export const PLAYS_FOLDER = '/ot/plays'

/** Names of the files that are the same for every play. */
export type PlayFileName = 'wait.yaml' | 'report.py'

/** The files that are the same for every play, as the data of a ConfigMap. */
export function playFiles(): Readonly<Record<PlayFileName, string>> {
  return { 'wait.yaml': WAIT, 'report.py': REPORT }
}

/**
 * A play that waits until the machine lets us in and its Python answers. The guest may still be starting, and its first start may still be adding the
 * user, so that a refused login is no end.
 */
const WAIT = `- name: wait
  hosts: all
  gather_facts: false
  tasks:
    - name: Wait until the machine answers
      ansible.builtin.wait_for_connection:
        timeout: "{{ ot_wait_seconds | default(600) }}"
`

/**
 * A callback plugin for Ansible. Ansible loads it because it is in a folder of `ANSIBLE_CALLBACK_PLUGINS`: the lists of enabled plugins, which an image may
 * have of its own, do not matter. Works with ansible-core 2.11 to 2.21.
 */
const REPORT = String.raw`"""Writes why a run failed as one line of JSON, where Kubernetes takes the message of a container that ended.

The object has what (failed or unreachable), play, task, host, and message, which a task with no_log does not have.
"""

import json
import os

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: report
type: notification
short_description: Writes why a run failed as one line of JSON
description: Writes the first failure that nothing ignored or rescued to the file in OT_REPORT_FILE.
"""
# Kubernetes keeps 4,096 bytes.
BYTES_MAX = 3500
# Three names of these characters are shorter than that in any alphabet.
NAME_MAX = 150
ENDING_MAX = 1500


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "report"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.play = ""
        self.failures = {}

    def v2_playbook_on_play_start(self, play):
        self.play = play.get_name()

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if not ignore_errors:
            self.keep("failed", result)

    def v2_runner_on_unreachable(self, result):
        if not getattr(part(result, "task"), "ignore_unreachable", False):
            self.keep("unreachable", result)

    def keep(self, what, result):
        # Whatever is wrong here, the run goes on.
        try:
            task, host = part(result, "task"), part(result, "host").get_name()
            names = {"what": what, "play": self.play, "task": task.get_name(), "host": host}
            report = {key: text(name)[:NAME_MAX] for key, name in names.items()}
            message = message_of(part(result, "result"))
            self.failures.setdefault(host, []).append(dict(report, **({"message": message} if message else {})))
        except Exception:
            pass

    def v2_playbook_on_stats(self, stats):
        try:
            for host, failures in self.failures.items():
                if not (stats.failures.get(host) or stats.dark.get(host)):
                    continue
                # A rescue comes before the failure that ends the play of a host.
                first = min(stats.rescued.get(host, 0), len(failures) - 1)
                return write(failures[first])
        except Exception:
            pass


def part(result, name):
    """Members have an underscore until ansible-core 2.18, and may lose it later."""
    return getattr(result, name) if hasattr(result, name) else getattr(result, "_" + name)


def text(value):
    return value if isinstance(value, str) else json.dumps(value, default=str)


def message_of(result):
    """What the module says, and the end of what its command or its crash printed. A loop is its first item that failed."""
    if "censored" in result:
        return ""
    items = [one for one in result.get("results") or [] if isinstance(one, dict)]
    for item in items:
        # Newer versions say it with an exception alone.
        if item.get("failed") or item.get("exception"):
            return message_of(item)
    printed = [result.get(key) for key in ("module_stderr", "stderr", "module_stdout", "stdout")]
    ending = cut(next((text(one).strip() for one in printed if one), ""))
    said = text(result.get("msg") or "").strip().rstrip(".")
    return said if ending in said else ": ".join(one for one in (said, ending) if one)


def cut(value):
    """The end of a text. Its first word may be a part of a secret, which nobody would know as one."""
    if len(value) <= ENDING_MAX:
        return value
    words = value[-ENDING_MAX:].split(None, 1)
    return words[1] if len(words) > 1 else ""


def write(report):
    line = line_of(report)
    while len(line) > BYTES_MAX:
        report["message"] = report["message"][: len(report["message"]) * 3 // 4]
        line = line_of(report)
    with open(os.environ.get("OT_REPORT_FILE", "/dev/termination-log"), "wb") as file:
        file.write(line)


def line_of(report):
    return (json.dumps(report, ensure_ascii=False) + "\n").encode("utf-8", "replace")
`

/** Where the container of a play finds what it logs in with. */
export interface PlayLogin {
  /** User that it logs in as. Root through sudo, unless it is root itself. */
  readonly user: string
  /** Path of the private key. */
  readonly keyFile?: string | undefined
  /** Path of a file with the password of the user, which is also that for sudo. Needs ansible-core 2.12. */
  readonly passwordFile?: string | undefined
}

export interface PlayVariable {
  readonly name: string
  readonly value: string
}

/**
 * Environment in which `ansible-playbook` of any image plays roles, as root without capabilities. It writes to `/tmp` alone, unless a task runs on
 * localhost. What `ansible.cfg` or the environment of the image says about anything else holds, such as where roles are.
 */
export function playEnv({ user, keyFile, passwordFile }: PlayLogin): PlayVariable[] {
  const values: Readonly<Record<string, string | undefined>> = {
    ...ALWAYS,
    ANSIBLE_REMOTE_USER: user,
    ANSIBLE_PRIVATE_KEY_FILE: keyFile,
    // Beside a key it would need sshpass.
    ANSIBLE_CONNECTION_PASSWORD_FILE: keyFile === undefined ? passwordFile : undefined,
    ANSIBLE_BECOME: 'True',
    ANSIBLE_BECOME_PASSWORD_FILE: passwordFile,
  }
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

const ALWAYS: Readonly<Record<string, string>> = {
  // The plugin `report.py`, beside those that an image may have.
  ANSIBLE_CALLBACK_PLUGINS: `${PLAYS_FOLDER}:/usr/share/ansible/plugins/callback`,
  // Machines of a lab have new host keys with each new disk, and nobody knows them before.
  ANSIBLE_HOST_KEY_CHECKING: 'False',
  // With a known key that is another one now, ssh would refuse passwords. It also warns where it cannot write its file, in each task.
  ANSIBLE_SSH_COMMON_ARGS: '-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR',
  // These are below the home folder, which may be read-only.
  ANSIBLE_LOCAL_TEMP: '/tmp',
  ANSIBLE_SSH_CONTROL_PATH_DIR: '/tmp/ssh',
  ANSIBLE_PERSISTENT_CONTROL_PATH_DIR: '/tmp/persistent',
  // A guest that has just started may lose a connection. A refused login is not tried again.
  ANSIBLE_SSH_RETRIES: '3',
  // The log is for people and for the status of the workspace, which finds the task in it where the plugin wrote nothing.
  ANSIBLE_STDOUT_CALLBACK: 'default',
  ANSIBLE_FORCE_COLOR: 'False',
  ANSIBLE_NOCOLOR: 'True',
  ANSIBLE_NOCOWS: 'True',
  ANSIBLE_DEPRECATION_WARNINGS: 'False',
  // Each line at once, so that the log shows the task that runs.
  PYTHONUNBUFFERED: '1',
  // Ansible refuses to start without UTF-8. Debian, Alpine, Fedora and Red Hat all have this locale without a package.
  LC_ALL: 'C.UTF-8',
}
