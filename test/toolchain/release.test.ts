import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { API_KINDS } from '@open-terrain/constructs/infra'
import { FINALIZERS } from '@open-terrain/constructs/operator'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EXAMPLES } from '../../sandbox/demo/manifests.ts'

const run = promisify(execFile)

/** A kubectl that finds the CRD of Workspaces, but cannot list Workspaces. If the CRD is `gone` after that, a file of that name marks it. */
const kubectl = (folder: string, becomes: 'gone' | 'broken') => `#!/bin/sh
case "$*" in
  'get crd workspaces.pelotech.ot '*) [ -e '${folder}/gone' ] || echo customresourcedefinition/workspaces.pelotech.ot ;;
  'get workspaces.pelotech.ot -A '*)
    touch '${folder}/${becomes}'
    echo "error: the server doesn't have a resource type" >&2
    exit 1
    ;;
esac
`

describe('examples/release.sh, when the kind of what it is to let go of cannot be read', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'open-terrain-release-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function release(becomes: 'gone' | 'broken') {
    await writeFile(join(folder, 'kubectl'), kubectl(folder, becomes))
    await chmod(join(folder, 'kubectl'), 0o755)
    return run(join(EXAMPLES, 'release.sh'), [], { env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` } })
  }

  it('goes on where its CRD is gone meanwhile: so is all that was of that kind', async () => {
    await expect(release('gone')).resolves.toBeDefined()
  })

  it('fails where the CRD is still there', async () => {
    await expect(release('broken')).rejects.toThrow("doesn't have a resource type")
  })
})

describe('examples/release.sh, and the manual', () => {
  const plurals = API_KINDS.map(({ plural }) => plural).toSorted()

  it('know all kinds and all finalizers of the operator', async () => {
    const script = await readFile(join(EXAMPLES, 'release.sh'), 'utf8')
    const kinds = /for kind in ([^;]*);/.exec(script)?.[1]?.split(' ') ?? []
    expect(kinds.toSorted()).toEqual(plurals)
    const finalizers = [...script.matchAll(/"(pelotech\.ot\/[a-z-]+)"/g)].map(([, one]) => one ?? '')
    expect(finalizers.toSorted()).toEqual(Object.values(FINALIZERS).toSorted())
  })

  it('delete all kinds where everything is removed', async () => {
    const manual = await readFile(join(EXAMPLES, '../docs/installation.md'), 'utf8')
    const commands = [...manual.matchAll(/kubectl delete (\S+,\S+) --all/g)].map(([, list]) => list ?? '')
    expect(commands).toHaveLength(2)
    for (const list of commands)
      expect([...list.split(','), 'workspaces.pelotech.ot'].toSorted()).toEqual(
        plurals.map((one) => `${one}.pelotech.ot`),
      )
  })
})
