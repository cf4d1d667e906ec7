import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openPage } from '../../cli/ui/show-ui.ts'
import { systemClock } from '../../operator/base/clock.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { launchBrowser, newPage } from './launch-browser.ts'

const program = inject('browser')

describe.skipIf(program === undefined)('the page of ot ui, on a real API server with an operator', () => {
  const cluster = useOwnCluster({ access: true })
  let browser: Browser

  beforeAll(async () => {
    if (typeof program === 'string') throw new Error(program)
    if (program !== undefined) browser = await launchBrowser(program)
  })
  afterAll(() => browser?.close())

  /** Opens the page with the rights of a kubeconfig. */
  async function opened(kubeconfig: string, operatorNamespace: string, stack: AsyncDisposableStack): Promise<Page> {
    const connection = Connection.fromEnvironment(16, kubeconfig)
    stack.defer(() => connection.close())
    const client = new HttpKubeClient({ connection, userAgent: 'ot' })
    const stopping = new AbortController()
    const served = await openPage({ client, clock: systemClock }, { port: 0, operatorNamespace }, stopping.signal)
    stack.defer(async () => {
      stopping.abort()
      await served.close()
    })
    const page = await newPage(browser)
    await page.goto(served.url)
    return page
  }

  const show = (page: Page, hash: string) => page.evaluate(`location.hash = '${hash}'`)

  it('shows a download and a lab as the operator writes them, and switches the lab off', async () => {
    await using workspaces = await Workspaces.start(cluster())
    await using stack = new AsyncDisposableStack()
    const { world } = workspaces
    const page = await opened(cluster().controlPlane.kubeconfigPath, world.operatorNamespace, stack)
    await show(page, '#/queue')
    await page.getByText('Slots: 0 of 2 in use').waitFor()
    const release = await heldDownload(world, 'kali')
    await page.getByText('Slots: 1 of 2 in use').waitFor()
    expect(await page.locator('.slot strong').innerText()).toBe(`${world.namespace}/kali`)
    release()
    await page.getByText('Slots: 0 of 2 in use').waitFor()

    const { metadata } = await workspaces.deploy('lab')
    await show(page, '#/labs')
    const tile = page.locator('.tile', { hasText: metadata.name })
    await tile.getByText('Ready').waitFor()
    await show(page, `#/labs?lab=${metadata.name}`)
    await page.getByLabel(`Map of ${metadata.name}`).waitFor()
    await page.locator('.card.good').first().waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Stop' }).click()
    await dialog.getByText(`${metadata.name}: asked for`).waitFor()
    await page.keyboard.press('Escape')
    await show(page, '#/labs')
    await page.locator('.tile.off', { hasText: metadata.name }).waitFor()
    await page.close()
    await workspaces.delete(metadata.name)
    await world.finish()
  })

  it('says which right is missing to somebody who has none', async () => {
    await using stack = new AsyncDisposableStack()
    const { path } = await cluster().controlPlane.addUser('stranger', ['strangers'])
    const page = await opened(path, 'sync-operator', stack)
    await page
      .getByText(/vmdiskimages.* is forbidden/)
      .first()
      .waitFor()
    await page.close()
  })
})
