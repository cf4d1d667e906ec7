import { afterEach, beforeEach, expect, it } from 'vitest'
import { Watchdog } from '../../control-plane/watchdog.ts'
import { ContainerProcess } from './container-process.ts'

let watchdog: Watchdog

beforeEach(() => {
  watchdog = new Watchdog()
})

afterEach(() => watchdog.close())

it('reports whole lines, however they are written, and the last one without its end', async () => {
  const lines: string[] = []
  const script = `printf 'one\\n\\ntw'; sleep 0.2; printf 'o\\nthree'`
  const argv = ['sh', '-c', script]
  await new ContainerProcess({ argv, env: {}, watchdog, onLine: (line) => lines.push(line) }).exited
  expect(lines).toEqual(['one', 'two', 'three'])
})
