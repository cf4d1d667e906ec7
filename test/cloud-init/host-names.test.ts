import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { renderUserData, type UserDataProps, withGuestHosts } from '@open-terrain/constructs/operator'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import type { CloudInit } from './package.ts'
import { type Merged, merged } from './verdict.ts'

const cloudInit = inject('cloudInit')
const run = promisify(execFile)

const OURS: UserDataProps = { hostname: 'web', users: [{ name: 'demo' }] }
const KINDS: readonly UserDataProps[] = [
  OURS,
  { ...OURS, userData: '#cloud-config\npackages: [nginx]\nmanage_etc_hosts: true\n' },
  { ...OURS, userData: '#!/bin/sh\nexit 0\n' },
  { ...OURS, userData: 'Content-Type: multipart/mixed; boundary="a"\n\n--a\n\n#!/bin/sh\nexit 0\n\n--a--\n' },
]
const ALIASES = [
  { ip: '10.0.0.2', hostnames: ['web'] },
  { ip: 'fd00::3', hostnames: ['db', 'db.lab.example'] },
]
const LINES = ['10.0.0.2 web # open-terrain', 'fd00::3 db db.lab.example # open-terrain']
/** What an image has, without an end of its last line. */
const OWN = '127.0.0.1 localhost\n10.9.9.9 mirror # of the site'

describe.skipIf(cloudInit === undefined)('host names of guests', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hosts-'))
    await writeFile(join(folder, 'hosts'), OWN)
    await start('first')
  })
  afterEach(async () => await rm(folder, { recursive: true }))

  function present(): CloudInit {
    if (typeof cloudInit === 'string') throw new Error(cloudInit)
    return cloudInit as CloudInit
  }
  async function hookOf(aliases: typeof ALIASES): Promise<string> {
    const [guest] = await merged(present(), [withGuestHosts(renderUserData(OURS), aliases)])
    return guest?.hooks.join('') ?? ''
  }

  /** Each start of a guest has another id. */
  const start = async (id: string) => await writeFile(join(folder, 'boot'), id)
  const lines = async () => (await readFile(join(folder, 'hosts'), 'utf8')).split('\n')
  /** What is left beside the file would be there for ever. */
  const beside = async () => (await readdir(folder)).filter((name) => name.startsWith('hosts'))
  const late = () => join(folder, 'cloud/scripts/per-boot/open-terrain-hosts')

  /** Runs what cloud-init would run early, in a folder in place of the root of the guest. */
  async function early(hook: string): Promise<void> {
    const script = hook
      .replaceAll('/etc/hosts', join(folder, 'hosts'))
      .replaceAll('/var/lib/cloud', join(folder, 'cloud'))
      .replaceAll('/proc/sys/kernel/random/boot_id', join(folder, 'boot'))
    const file = join(folder, 'hook')
    await writeFile(file, script, { mode: 0o755 })
    // As in a guest whose texts are in UTF-8.
    await run(file, { env: { ...process.env, LC_ALL: 'C.UTF-8' } })
  }

  it('are a boothook beside user data of each kind, which means what it meant without', async () => {
    const texts = KINDS.map(renderUserData)
    const plain = await merged(present(), texts)
    const named = await merged(
      present(),
      texts.map((one) => withGuestHosts(one, ALIASES)),
    )
    for (const [at, guest] of named.entries()) {
      const { hooks, scripts, ...rest } = guest
      const { hooks: none, scripts: before, ...was } = plain[at] as Merged
      expect(rest).toEqual(was)
      expect(Object.values(scripts)).toEqual(Object.values(before))
      expect([none, hooks]).toEqual([[], [expect.stringMatching(/^#!\/bin\/sh\n(.*\n)+10\.0\.0\.2 web/)]])
    }
    expect(texts.map((one) => withGuestHosts(one, []))).toEqual(texts)
  })

  it('are beside what the guest has, and follow at each start', async () => {
    await early(await hookOf(ALIASES))
    expect(await lines()).toEqual([...OWN.split('\n'), ...LINES, ''])
    await early(await hookOf(ALIASES))
    expect(await lines()).toEqual([...OWN.split('\n'), ...LINES, ''])
    await start('second')
    await early(await hookOf(ALIASES.slice(1)))
    expect(await lines()).toEqual([...OWN.split('\n'), ...LINES.slice(1), ''])
  })

  it('are there after cloud-init has written the file itself, because of manage_etc_hosts', async () => {
    await early(await hookOf(ALIASES))
    await writeFile(join(folder, 'hosts'), '127.0.1.1 web\n')
    await run(late())
    expect(await lines()).toEqual(['127.0.1.1 web', ...LINES, ''])
  })

  it('go at the first start without them', async () => {
    await early(await hookOf(ALIASES))
    await start('second')
    await run(late())
    expect(await lines()).toEqual([...OWN.split('\n'), ''])
    expect(existsSync(late())).toBe(false)
    expect(await beside()).toEqual(['hosts'])
  })

  it('leave lines of the guest alone that are not UTF-8', async () => {
    const own = Buffer.concat([Buffer.from('10.9.9.9 mirror # b'), Buffer.of(0xfc), Buffer.from('ro\n\n')])
    await writeFile(join(folder, 'hosts'), own)
    await early(await hookOf(ALIASES))
    await start('second')
    await early(await hookOf(ALIASES))
    const expected = Buffer.concat([own, Buffer.from(`${LINES.join('\n')}\n`)])
    expect((await readFile(join(folder, 'hosts'))).toString('hex')).toBe(expected.toString('hex'))
  })

  it.each(['early', 'late'])('that cannot be written are no failure of cloud-init: %s', async (when) => {
    const hook = await hookOf(ALIASES)
    if (when === 'late') await early(hook)
    await rm(join(folder, 'hosts'))
    await symlink('/proc/version', join(folder, 'hosts'))
    if (when === 'early') await early(hook)
    await expect(run(late())).resolves.toMatchObject({ stderr: expect.stringContaining('cannot be written') })
    expect(await beside()).toEqual(['hosts'])
  })

  it('are not written where the file cannot be read', async () => {
    await rm(join(folder, 'hosts'))
    await symlink(folder, join(folder, 'hosts'))
    await early(await hookOf(ALIASES))
    expect(await beside()).toEqual(['hosts'])
  })

  it('are made from the copy where the last start was cut off while it wrote', async () => {
    await writeFile(join(folder, 'hosts'), '')
    await writeFile(join(folder, 'hosts.open-terrain'), [...OWN.split('\n'), LINES[0], ''].join('\n'))
    await early(await hookOf(ALIASES))
    expect(await lines()).toEqual([...OWN.split('\n'), ...LINES, ''])
    expect(await beside()).toEqual(['hosts'])
  })
})
