import { describe, expect, it } from 'vitest'
import { resourceSchema } from '../api/resource-schema.ts'
import { RESOURCES } from '../api/resources.ts'
import { render } from '../children/render.ts'
import { Crd } from './crd.ts'

describe('Crd', () => {
  it.each(RESOURCES)('loses nothing of the schema of $kind', (resource) => {
    const [crd] = render((chart) => new Crd(chart, 'Crd', resource))
    const openAPIV3Schema = JSON.parse(JSON.stringify(resourceSchema(resource)))
    expect(crd).toMatchObject({ spec: { versions: [{ schema: { openAPIV3Schema } }] } })
  })
})
