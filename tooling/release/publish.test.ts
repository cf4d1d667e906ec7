import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const SCRIPT = join(import.meta.dirname, 'publish.sh')
const DIGEST = `sha256:${'a'.repeat(64)}`
const FILES: Readonly<Record<string, string>> = {
  IMAGE: `registry.example:5000/team/operator:1.2.3@${DIGEST}\n`,
  'operator-1.2.3.oci.tar': 'image',
  'open-terrain-constructs-1.2.3.tgz': 'constructs',
  'open-terrain-infra-1.2.3.tgz': 'infra',
  'open-terrain-cli-1.2.3.tgz': 'cli',
  'NOTES.md': 'notes',
}

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-publish-'))
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text)
  const sums = Object.entries(FILES).map(
    ([name, text]) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`,
  )
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The commands that it would run, with the folder as `F`. */
async function commands(...args: string[]): Promise<string[]> {
  const { stdout } = await run(SCRIPT, args, {
    env: {
      PATH: process.env['PATH'],
      HOME: '/home/robot',
      DRY_RUN: '1',
      REGISTRY_USER: 'robot',
      GH_TOKEN: 'secret',
      GITHUB_OUTPUT: join(folder, 'output'),
    },
  })
  return stdout.replaceAll(folder, 'F').trim().split('\n')
}

describe('publish.sh', () => {
  it('pushes the image of all platforms to the registry that it names, without a word of the token', async () => {
    expect(await commands('image', folder)).toEqual([
      // The file that the action reads which signs the image.
      'mkdir -p /home/robot/.docker',
      'skopeo login --authfile /home/robot/.docker/config.json --username robot --password-stdin registry.example:5000',
      'skopeo copy --authfile /home/robot/.docker/config.json --all --preserve-digests oci-archive:F/operator-1.2.3.oci.tar docker://registry.example:5000/team/operator:1.2.3',
    ])
  })

  it('publishes what others need first, and all files but the text, which is that of the release', async () => {
    const published = await commands('npm', folder)
    expect(published.map((command) => /terrain-(\w+)-/.exec(command)?.[1])).toEqual(['constructs', 'infra', 'cli'])
    const [created = ''] = await commands('github', folder, 'v1.2.3')
    expect(created).toMatch(
      /^gh release create v1\.2\.3 --verify-tag .*--notes-file F\/NOTES\.md F\/IMAGE F\/SHA256SUMS /,
    )
    expect(created.match(/NOTES/g)).toHaveLength(1)
  })

  it('leaves out packages that npm has already, with the same bytes', async () => {
    const bin = join(folder, 'bin')
    const log = join(folder, 'log')
    mkdirSync(bin)
    const integrity = (text: string) => `sha512-${createHash('sha512').update(text).digest('base64')}`
    const npm = `#!/bin/sh
case "$*" in
  'view @open-terrain/constructs@1.2.3 dist.integrity') echo '${integrity('constructs')}' ;;
  'view @open-terrain/infra@1.2.3 dist.integrity') echo '${integrity('of another commit')}' ;;
  view*) exit 1 ;;
  *) echo "$*" >> '${log}' ;;
esac
`
    writeFileSync(join(bin, 'npm'), npm)
    chmodSync(join(bin, 'npm'), 0o755)
    const { stdout } = await run(SCRIPT, ['npm', folder], { env: { PATH: `${bin}:${process.env['PATH']}` } })
    expect(stdout).toContain('open-terrain-constructs-1.2.3.tgz is published already\n')
    const published = readFileSync(log, 'utf8').replaceAll(folder, 'F').trim().split('\n')
    expect(published).toEqual(
      ['infra', 'cli'].map((name) => `publish --provenance --access public F/open-terrain-${name}-1.2.3.tgz`),
    )
  })

  it('publishes nothing that is not as it was made, or that nobody asked for', async () => {
    await expect(commands('github', folder)).rejects.toMatchObject({ code: 2 })
    await expect(commands('everything', folder)).rejects.toMatchObject({ code: 2 })
    writeFileSync(join(folder, 'open-terrain-cli-1.2.3.tgz'), 'another')
    await expect(commands('npm', folder)).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining('FAILED') })
  })
})
