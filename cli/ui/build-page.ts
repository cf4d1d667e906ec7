import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import type { PageAssets } from './page-server.ts'

const PAGE = join(import.meta.dirname, 'page')

/** Makes the files of the page from their sources. */
export async function buildPage(): Promise<PageAssets> {
  const { outputFiles } = await build({
    entryPoints: [join(PAGE, 'main.tsx')],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    platform: 'browser',
    // What the browsers of the last two years know.
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
  })
  const [html, css] = await Promise.all(['index.html', 'page.css'].map((name) => readFile(join(PAGE, name), 'utf8')))
  return { html: html ?? '', css: css ?? '', js: outputFiles[0]?.text ?? '' }
}

/** Puts the files of the page into a bundle, which has neither the sources nor what makes files of them. */
export const pageInside: Plugin = {
  name: 'page-inside',
  setup({ onLoad }) {
    onLoad({ filter: /cli[\\/]ui[\\/]page-assets[.]ts$/ }, async () => ({
      contents: `export const pageAssets = async () => (${JSON.stringify(await buildPage())})`,
    }))
  },
}
