# A machine of a lab in which people log in by ssh: root, `keyed` (sudo without a password) and `ansible` (sudo with its password).
#   machine.sh <password> <public key>
set -eu
hash=$(openssl passwd -6 "$1")
cat > /etc/passwd <<END
root:x:0:0:root:/root:/bin/bash
sshd:x:100:65534::/run/sshd:/usr/sbin/nologin
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
ansible:x:1000:1000::/home/ansible:/bin/bash
keyed:x:1001:1001::/home/keyed:/bin/bash
END
printf 'root:x:0:\nnogroup:x:65534:\nshadow:x:42:\nansible:x:1000:\nkeyed:x:1001:\n' > /etc/group
printf 'root:*:20000::::::\nsshd:!:20000::::::\nansible:%s:20000::::::\nkeyed:*:20000::::::\n' "$hash" > /etc/shadow
chmod 640 /etc/shadow
for user in ansible keyed; do
  install -d -m 700 -o "$user" -g "$user" "/home/$user" "/home/$user/.ssh"
done
install -d -m 700 /root/.ssh
for folder in /root /home/keyed /home/ansible; do
  echo "$2" > "$folder/.ssh/authorized_keys"
done
printf 'ansible ALL=(ALL) ALL\nkeyed ALL=(ALL) NOPASSWD:ALL\n' > /etc/sudoers.d/people
chmod 440 /etc/sudoers.d/people
for service in sudo other; do
  printf 'auth required pam_unix.so\naccount required pam_unix.so\nsession required pam_permit.so\n' > "/etc/pam.d/$service"
done
install -d -m 755 /run/sshd
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/host
cat > /etc/ssh/server <<END
HostKey /etc/ssh/host
UsePAM no
Subsystem sftp /usr/lib/openssh/sftp-server
END
exec /usr/sbin/sshd -D -e -f /etc/ssh/server
