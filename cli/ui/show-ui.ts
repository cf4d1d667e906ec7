import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts'
import type { ClusterChoice, Surroundings } from '../surroundings.ts'
import { ClusterWatch } from './cluster-watch.ts'
import { pageAssets } from './page-assets.ts'
import { type PageSource, type RunningPage, servePage } from './page-server.ts'
import { storyOf } from './story.ts'
import { carryOut } from './verbs.ts'

interface UiOptions {
  /** 0: any that is free. */
  readonly port: number
  /** Where the ledger of slots is. */
  readonly operatorNamespace: string
  /** What commands to paste name. */
  readonly cluster?: ClusterChoice | undefined
}

type Connected = Pick<Surroundings, 'clock'> & { readonly client: KubeClient }

/** Serves the page on loopback until it is interrupted, and prints where. Throws an Error if the port is taken. */
export async function showUi(
  { client, clock, print, tell }: Connected & Pick<Surroundings, 'print' | 'tell'>,
  options: UiOptions,
  interrupted: AbortSignal,
): Promise<ExitCode> {
  const page = await openPage({ client, clock }, options, interrupted)
  print(`${page.url}\n`)
  tell('Open this address in a browser of this machine. It shows what you may see, until you press Ctrl-C.\n')
  if (!interrupted.aborted)
    await new Promise((resolve) => interrupted.addEventListener('abort', resolve, { once: true }))
  await page.close()
  return EXIT_CODES.done
}

/** Serves the page, and follows the cluster until `signal` is aborted. */
export async function openPage(
  { client, clock }: Connected,
  { port, operatorNamespace, cluster }: UiOptions,
  signal: AbortSignal,
): Promise<RunningPage> {
  const watch = new ClusterWatch({ client, clock, random: Math.random, operatorNamespace })
  const source: PageSource = {
    everything: () => watch.everything(),
    subscribe: (listener) => watch.subscribe(listener),
    story: (kind, key) => storyOf(client, { kind, key, operatorNamespace, cluster, now: clock.now() }),
    carryOut: (request) => carryOut({ client, clock }, request),
  }
  const page = await servePage(await pageAssets(), source, port)
  void watch.run(signal)
  return page
}
