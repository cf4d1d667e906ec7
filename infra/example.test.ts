import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseVMDiskImageSpec, parseWorkspaceSpec } from '@open-terrain/constructs/operator'
import { runtime } from '@pulumi/pulumi'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { runMocked } from '../test/prepared/infra/mocked-stack.ts'
import { parseConfig } from './config.ts'

const FOLDER = join(import.meta.dirname, '../examples/pulumi-team')

it("a team's own stack makes its image, and then the lab, awaited both", async () => {
  const project = parse(readFileSync(join(FOLDER, 'Pulumi.yaml'), 'utf8')) as {
    main: string
    config: { version: { default: string } }
  }
  const config = { 'open-terrain:version': project.config.version.default, 'open-terrain:password': 'hush-hush' }
  runtime.setAllConfig(config, ['open-terrain:password'])
  const { objects } = await runMocked(() => import(join(FOLDER, project.main)))
  expect(objects.map(({ name }) => name)).toEqual([
    'images/vmdiskimage/vmdi-farm/lab-router-2-1-0',
    'lab/workspace/team-lab',
  ])
  const [image, lab] = objects
  expect(lab?.dependsOn).toEqual([image?.urn])
  const waits = objects.map(({ inputs }) => (inputs['metadata'] as { annotations: object }).annotations)
  expect(waits).toEqual([{ 'pulumi.com/skipAwait': 'true' }, { 'pulumi.com/skipAwait': 'true' }])
  expect(parseVMDiskImageSpec(image?.inputs['spec'])).toMatchObject({ ok: true })
  // Also in a cluster whose policy has no defaults.
  const images = { image: image?.inputs['spec'] }
  expect(() => parseConfig({ image: 'registry.example/operator:1.4.0', images })).not.toThrow()
  expect(parseWorkspaceSpec(lab?.inputs['spec'])).toMatchObject({ ok: true })
  expect(JSON.stringify(lab?.inputs)).toContain('"plain_text_passwd":"hush-hush"')
  // Encrypted in the state, as what is sent and as what the cluster answers.
  expect(JSON.stringify(lab?.sent)).toMatch(/"plain_text_passwd":\{[^{}]*"value":"hush-hush"/)
  expect(lab?.secretOutputs).toEqual(['spec', '__inputs'])
})
