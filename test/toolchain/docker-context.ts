import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, matchesGlob, relative } from 'node:path'

/** A line of a Dockerfile: its instruction, and the rest. Continued lines are joined. */
export interface Instruction {
  readonly name: string
  readonly rest: string
}

/** The instructions of each stage. Those before the first stage are returned as a stage too. */
export function stagesOf(dockerfile: string): Instruction[][] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const stages: Instruction[][] = [[]]
  for (const line of lines.filter((one) => one.trim() !== '')) {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
    if (name === 'FROM') stages.push([])
    stages.at(-1)?.push({ name, rest })
  }
  return stages
}

/** Executes the COPY instructions of a stage, for files that `.dockerignore` does not exclude. Throws if a source does not exist. */
export function copyContext(root: string, stage: readonly Instruction[], target: string): void {
  const isSent = sentBy(readFileSync(join(root, '.dockerignore'), 'utf8'))
  for (const { name, rest } of stage) {
    if (name !== 'COPY' || rest.startsWith('--from=')) continue
    const words = rest.split(/\s+/)
    const to = words.pop() ?? '.'
    for (const from of words) {
      const isFolder = statSync(join(root, from)).isDirectory()
      if (!isFolder && !isSent(from))
        throw new Error(`.dockerignore keeps ${from} from the image, which is copied there`)
      const destination = isFolder ? join(target, to) : join(target, to, from.split('/').at(-1) ?? '')
      mkdirSync(dirname(destination), { recursive: true })
      const filter = (path: string) => path === join(root, from) || isSent(relative(root, path))
      cpSync(join(root, from), destination, { recursive: true, filter })
    }
  }
}

/** The last line that matches a path, or a folder above it, decides. */
function sentBy(dockerignore: string): (path: string) => boolean {
  const lines = dockerignore.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return (path) => {
    const parts = path.split('/')
    const prefixes = parts.map((_, at) => parts.slice(0, at + 1).join('/'))
    const decisive = lines.findLast((line) => prefixes.some((one) => matchesGlob(one, line.replace(/^!/, ''))))
    return decisive === undefined || decisive.startsWith('!')
  }
}
