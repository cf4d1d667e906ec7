import type { PageAssets } from './page-server.ts'

/** Returns the files of the page, made from their sources. In the bundle of `ot` there is a copy that was made with it, in place of this file. */
export async function pageAssets(): Promise<PageAssets> {
  const { buildPage } = await import('./build-page.ts')
  return await buildPage()
}
