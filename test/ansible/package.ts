import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { closureOf, mergeUsr, resolveDebianTool } from '../../sandbox/debian-packages.ts'

const run = promisify(execFile)
/** Ansible with what it logs in with, and what a machine that it logs in to needs. */
const PACKAGES = [
  ...['ansible-core', 'openssh-client', 'sshpass'],
  ...['openssh-server', 'sudo', 'libpam-modules', 'procps', 'openssl'],
  ...['base-files', 'base-passwd', 'libc-bin', 'bash', 'dash', 'coreutils', 'findutils', 'grep', 'sed', 'util-linux'],
]
const INSTALLED = '.installed'

/** Returns the folder of a file system in which Ansible and an ssh server run: from our cache, or from packages of the distribution. */
export async function resolveAnsible(report: (line: string) => void): Promise<string> {
  const folder = await resolveDebianTool(
    {
      name: 'ansible',
      packages: (apt) => closureOf(apt, ...PACKAGES),
      kept: '',
      findIn: async (cache) => (existsSync(join(cache, 'usr/bin/ansible-playbook')) ? cache : undefined),
      remedy: 'the checks with Ansible need Debian or Ubuntu with apt. Set ANSIBLE=skip to leave them out.',
    },
    report,
  )
  await mergeUsr(folder)
  if (!existsSync(join(folder, INSTALLED))) await install(folder)
  return folder
}

/** Does what packages do when they are installed, as far as it matters. Without compiled modules, each start of Ansible takes two seconds more. */
async function install(folder: string): Promise<void> {
  await writeFile(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/bash\n')
  await writeFile(join(folder, 'etc/group'), 'root:x:0:\n')
  const modules = ['ansible', 'cryptography', 'jinja2', 'markupsafe', 'packaging', 'yaml'].map(
    (name) => `/usr/lib/python3/dist-packages/${name}`,
  )
  await run('chroot', [folder, '/usr/bin/python3', '-m', 'compileall', '-q', '-x', 'ansible/modules', ...modules])
  await writeFile(join(folder, INSTALLED), '')
}
