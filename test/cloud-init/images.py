"""Users and groups of freshly made cloud images, by distribution, and the user that its cloud.cfg has cloud-init make at the first start."""

DEBIAN_USERS = """root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc _apt nobody systemd-network
systemd-resolve systemd-timesync messagebus sshd polkitd tcpdump uuidd""".split()
DEBIAN_GROUPS = """root daemon bin sys adm tty disk lp mail news uucp man proxy kmem dialout fax voice cdrom floppy tape sudo audio dip
www-data backup operator list irc src shadow utmp video sasl plugdev staff games users nogroup systemd-journal systemd-network
systemd-resolve systemd-timesync messagebus crontab input sgx kvm render netdev _ssh polkitd tcpdump uuidd""".split()
REDHAT_USERS = """root bin daemon adm lp sync shutdown halt mail operator games ftp nobody dbus systemd-network systemd-oom
systemd-coredump systemd-resolve systemd-timesync polkitd tss unbound sssd chrony sshd rpc rpcuser rtkit setroubleshoot tcpdump""".split()
REDHAT_GROUPS = """root bin daemon sys adm tty disk lp mem kmem wheel cdrom mail man dialout floppy games tape video ftp lock audio
users nobody utmp utempter input kvm render sgx systemd-journal dbus polkitd tss sssd chrony sshd ssh_keys rpc printadmin""".split()

IMAGES = {
    "debian": ("debian", DEBIAN_USERS, DEBIAN_GROUPS, {"name": "debian", "groups": ["adm", "sudo", "users"]}),
    "ubuntu": (
        "ubuntu",
        [*DEBIAN_USERS, "gnats", "syslog", "tss", "landscape", "pollinate", "usbmux", "fwupd-refresh", "dhcpcd"],
        [*DEBIAN_GROUPS, "gnats", "ssh", "lxd", "rdma", "syslog", "tss", "landscape", "fwupd-refresh"],
        {"name": "ubuntu", "groups": ["adm", "cdrom", "dip", "lxd", "sudo"]},
    ),
    "rocky": ("rocky", REDHAT_USERS, REDHAT_GROUPS, {"name": "rocky", "groups": ["adm", "systemd-journal"]}),
    "fedora": ("fedora", REDHAT_USERS, REDHAT_GROUPS, {"name": "fedora", "groups": ["wheel", "adm"]}),
    "opensuse": (
        "opensuse",
        "root bin daemon lp mail news uucp games man wwwrun ftp nobody messagebus polkitd chrony sshd nscd postfix".split(),
        """root bin daemon sys tty disk lp www kmem wheel mail news uucp shadow dialout audio floppy cdrom console utmp public video
        games xok trusted modem ftp lock man users nobody nogroup messagebus maildrop postfix sshd chrony tape""".split(),
        {"name": "opensuse", "groups": ["users"]},
    ),
    "alpine": (
        "alpine",
        """root bin daemon adm lp sync shutdown halt mail news uucp operator man postmaster cron ftp sshd at squid xfs games cyrus
        vpopmail ntp smmsp guest nobody chrony""".split(),
        """root bin daemon sys adm tty disk lp mem kmem wheel floppy mail news uucp man cron console audio cdrom dialout ftp sshd input
        at tape video netdev readproc squid xfs kvm games shadow cdrw usb vpopmail users ntp nofiles smmsp locate abuild utmp ping
        nogroup nobody""".split(),
        {"name": "alpine", "groups": ["adm", "wheel"]},
    ),
    # An image of one's own: it has made its user already, and has groups that nobody else knows of.
    "golden": ("debian", [*DEBIAN_USERS, "lab"], [*DEBIAN_GROUPS, "lab", "students", "demo"], {"name": "debian", "groups": ["sudo"]}),
}
# These can log in: they have a shell.
PEOPLE = ("root", "lab")
