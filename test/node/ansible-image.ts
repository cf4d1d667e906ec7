import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeImage } from '../../sandbox/node/images.ts'
import { resolveAnsible } from '../ansible/package.ts'
import type { InsideNodes } from './inside-nodes.ts'

/** Debian's Ansible with the roles of the examples, and what a machine needs that Ansible logs in to. */
export const ANSIBLE_IMAGE = 'open-terrain.invalid/ansible:1'

const ROLES = join(import.meta.dirname, '../../examples/ansible/roles')

/** Gives the image to all nodes. */
export async function loadAnsible({ all }: InsideNodes): Promise<void> {
  const root = await resolveAnsible((line) => console.info(line))
  const folder = await mkdtemp(`${root}-roles.`)
  try {
    await mkdir(join(folder, 'etc/ansible'), { recursive: true })
    await cp(ROLES, join(folder, 'etc/ansible/roles'), { recursive: true })
    const archive = join(folder, 'image.tar')
    await writeImage(ANSIBLE_IMAGE, { debian: root, roles: folder }, archive)
    for (const node of all) await node.ctr('images', 'import', '--local', archive)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
