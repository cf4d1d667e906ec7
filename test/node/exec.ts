import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Attach } from '@kubernetes/client-node/dist/attach.js'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { Exec } from '@kubernetes/client-node/dist/exec.js'
import type { ObjectKey } from '../../operator/kube/kube-object.ts'

/** Runs a command in a container, as `kubectl exec` does. Returns its output, or throws with what went wrong. */
export async function execIn(
  kubeconfig: string,
  { namespace = '', name }: ObjectKey,
  container: string,
  ...command: readonly string[]
): Promise<string> {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const [out, err] = [new PassThrough(), new PassThrough()]
  const [output, complaint] = [text(out), text(err)]
  const ended = Promise.withResolvers<{ readonly status?: string; readonly message?: string }>()
  const socket = await new Exec(config).exec(
    namespace,
    name,
    container,
    [...command],
    out,
    err,
    null,
    false,
    (status) => ended.resolve(status),
  )
  socket.onclose = () => ended.resolve({ message: 'the connection was closed' })
  const { status, message } = await ended.promise
  out.end()
  err.end()
  if (status !== 'Success') throw new Error(`${command.join(' ')}: ${message} ${await complaint}`)
  return await output
}

/**
 * Types a line into the terminal of a container, as whoever runs `kubectl attach -it` does. Resolves with what the terminal shows once that has
 * the end. Throws with what it showed if the connection is closed before.
 */
export async function typeInto(
  kubeconfig: string,
  { namespace = '', name }: ObjectKey,
  container: string,
  line: string,
  end: RegExp,
): Promise<string> {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const [screen, keyboard] = [new PassThrough(), new PassThrough()]
  const shown = Promise.withResolvers<string>()
  let seen = ''
  screen.setEncoding('utf8').on('data', (part: string) => {
    seen += part
    if (end.test(seen)) shown.resolve(seen)
  })
  const socket = await new Attach(config).attach(namespace, name, container, screen, null, keyboard, true)
  socket.onclose = () => shown.reject(new Error(`the terminal was closed after: ${seen}`))
  keyboard.write(`${line}\n`)
  try {
    return await shown.promise
  } finally {
    socket.close()
  }
}
