import type { HostAlias } from '../api/host-aliases.ts'
import { sha256Hex } from '../api/sha256.ts'
import { archiveOf, isMimeArchive, partOf } from './user-data-archive.ts'

/** At the end of each line of ours in the guest's /etc/hosts. The lines that end otherwise are the guest's own. */
const MARK = ' # open-terrain'
const BOOT_ID = 'cat /proc/sys/kernel/random/boot_id 2>/dev/null'

/**
 * Writes the whole text beside the file first. What stays there until the file is complete is what the next start reads, after a power cut for instance. The
 * file is written over, not replaced: it may be a mount, or a link. A failure is no failure of cloud-init: all else in the guest is as it should be.
 */
const REPLACE_LINES: readonly string[] = [
  'from=/etc/hosts',
  'copy=/etc/hosts.open-terrain',
  'if [ -e "$copy" ]; then from=$copy; fi',
  // Lines of the guest may have bytes of any encoding. grep ends the last line, too, which sed would not, and says with 1 that there are none.
  `own() { [ ! -e "$from" ] || LC_ALL=C grep -av '${MARK}$' "$from" || [ $? -eq 1 ]; }`,
  'replace() {',
  '{ own && names; } > "$copy.part" || return 1',
  'was=$(cat /etc/hosts 2>/dev/null)',
  'if [ "$(cat "$copy.part")" = "$was" ]; then rm -f "$copy"; return 0; fi',
  'mv -f "$copy.part" "$copy" || return 1',
  'sync "$copy"',
  'cat "$copy" > /etc/hosts',
  'failed=$?',
  'sync /etc/hosts',
  'if [ $failed -eq 0 ] || [ "$(cat /etc/hosts 2>/dev/null)" = "$was" ]; then rm -f "$copy"; fi',
  'return $failed',
  '}',
  "replace || echo 'open-terrain: /etc/hosts cannot be written' >&2",
  'rm -f "$copy.part"',
  'exit 0',
]

/**
 * Returns cloud-init user data that also writes these names into /etc/hosts, at each start of the guest. KubeVirt makes the drive with this data for each
 * start, and cloud-init reads it each time, so a guest that starts has the present names.
 * @param userData from `renderUserData`
 */
export function withGuestHosts(userData: string, aliases: readonly HostAlias[] = []): string {
  if (aliases.length === 0) return userData
  return archiveOf(userData, [
    isMimeArchive(userData) ? userData : partOf('text/cloud-config', userData),
    partOf('text/cloud-boothook', guestHostsScript(aliases)),
  ])
}

/** Returns a hash of the names (16 hexadecimal digits); undefined without any. */
export function guestHostsHash(aliases: readonly HostAlias[] = []): string | undefined {
  if (aliases.length === 0) return undefined
  return sha256Hex(JSON.stringify(aliases.map(({ ip, hostnames }) => [ip, ...hostnames]))).slice(0, 16)
}

/**
 * The script that runs at each start, early. With `manage_etc_hosts`, cloud-init writes the file again after that, so it leaves a script that runs late as well.
 * If that script was not written in the present start, nobody wants the names any more: it removes our lines and itself.
 */
function guestHostsScript(aliases: readonly HostAlias[]): string {
  return [
    '#!/bin/sh',
    '# Written by Open Terrain, for hostAliases of the VirtualMachine.',
    'mkdir -p /var/lib/cloud/scripts/per-boot',
    'run=/var/lib/cloud/scripts/per-boot/open-terrain-hosts',
    '{',
    `printf '#!/bin/sh\\nboot=%s\\n' "$(${BOOT_ID})"`,
    "cat <<'SCRIPT'",
    '# Written by Open Terrain at each start. Replaces the lines of /etc/hosts that end with its mark.',
    'names() {',
    "cat <<'NAMES'",
    ...aliases.map(({ ip, hostnames }) => `${[ip, ...hostnames].join(' ')}${MARK}`),
    'NAMES',
    '}',
    `if [ "$boot" != "$(${BOOT_ID})" ]; then rm -f "$0"; names() { :; }; fi`,
    ...REPLACE_LINES,
    'SCRIPT',
    '} > "$run"',
    'chmod 755 "$run"',
    '"$run"',
    '',
  ].join('\n')
}
