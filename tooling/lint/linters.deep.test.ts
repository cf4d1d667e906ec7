import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findings, type Linters, resolveLinters } from './linters.ts'

let folder = ''
let linters: Linters
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-lint-'))
  linters = await resolveLinters(() => undefined)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const WORKFLOW = `on: pull_request
jobs:
  one:
    runs-on: ubuntu-24.04
    steps:
      - run: echo "\${{ github.event.pull_request.title }}"
      - run: cd $HOME/a\\ b; rm -rf $1
`

it('the linters find a word that is split, and a title of a pull request that runs as a script', async ({ skip }) => {
  const { shellcheck, actionlint } = linters
  skip(shellcheck === undefined || actionlint === undefined, 'one of them is left out')
  const [script, workflow] = [join(folder, 'script'), join(folder, 'workflow.yml')]
  writeFileSync(script, '#!/bin/sh\nrm -rf $1\n')
  writeFileSync(workflow, WORKFLOW)
  const found = await findings(linters, { scripts: [script], workflows: [workflow] })
  expect(found).toContain(`${script}:2:8: note: Double quote to prevent globbing`)
  expect(found).toMatch(/workflow\.yml:6:\d+: "github\.event\.pull_request\.title" is potentially untrusted/)
  expect(found).toMatch(/workflow\.yml:7:\d+: shellcheck reported issue .*SC2086/)
  expect(await findings(linters, { scripts: [], workflows: [] })).toBe('')
})
