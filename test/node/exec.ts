import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
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
