import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as kubernetes from '@kubernetes/client-node'
import { OVERRIDE_ROOTS, type OverrideNode, verdictOnField } from '@open-terrain/constructs/operator'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { foreignCrds } from '../../sandbox/control-plane/foreign-crds.ts'

/** A type of a schema, as far as overrides go: what it is a list or a map of, or its fields. */
interface SchemaType {
  readonly fields: () => Fields
}

type Fields = Readonly<Record<string, SchemaType>>

const MODELS = join(import.meta.dirname, '../../node_modules/@kubevirt-ui/kubevirt-api/kubevirt/models')

/** A type of KubeVirt's API as its TypeScript models have it. */
function modelOf(node: ts.TypeNode | undefined): SchemaType {
  if (node !== undefined && ts.isTypeLiteralNode(node)) {
    const [map] = node.members.filter((member) => ts.isIndexSignatureDeclaration(member))
    return { fields: (): Fields => (map === undefined ? {} : { '*': modelOf(map.type) }) }
  }
  if (node === undefined || !ts.isTypeReferenceNode(node)) return { fields: () => ({}) }
  const name = node.typeName.getText()
  return name === 'Array' ? modelOf(node.typeArguments?.[0]) : { fields: () => fieldsOfModel(name) }
}

function fieldsOfModel(name: string): Fields {
  const path = join(MODELS, `${name}.ts`)
  if (!existsSync(path)) return {}
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  const declared = source.statements.filter((statement) => ts.isInterfaceDeclaration(statement))
  const members = declared.flatMap((one) => (one.name.text === name ? [...one.members] : []))
  const properties = members.filter((member) => ts.isPropertySignature(member))
  return Object.fromEntries(properties.map((one) => [one.name.getText(), modelOf(one.type)]))
}

interface Structural {
  readonly properties?: Readonly<Record<string, Structural>>
  readonly items?: Structural
  readonly additionalProperties?: Structural
}

/** A type as the schema of a CRD has it. */
function structural({ properties, items, additionalProperties: map }: Structural): SchemaType {
  if (items !== undefined) return structural(items)
  const fields = map === undefined ? (properties ?? {}) : { '*': map }
  return { fields: () => Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, structural(one)])) }
}

/** Adds every path of a type to those that are seen. Returns those without a verdict. What is below never has that verdict. */
function walk(type: SchemaType, verdict: OverrideNode, path: string, seen: Set<string>): string[] {
  return Object.entries(type.fields()).flatMap(([name, field]) => {
    const own = path === '' ? name : `${path}.${name}`
    const found = verdictOnField(verdict, name)
    seen.add(own)
    if (found === undefined && verdictOnField(verdict, '*') === undefined) return [own]
    return found === undefined || found.kind === 'never' ? [] : walk(field, found, own, seen)
  })
}

/** Returns the paths that have a verdict of their own. */
function pathsOf(node: OverrideNode, path = ''): string[] {
  if (node.kind === 'list' || node.kind === 'items') return pathsOf(node.item, path)
  const fields = node.kind === 'fields' ? Object.entries(node.fields) : []
  const isMap = fields.some(([name]) => name === '*')
  return fields.flatMap(([name, one]) => {
    const own = path === '' ? name : `${path}.${name}`
    return isMap && name !== '*' ? [] : [own, ...pathsOf(one, own)]
  })
}

/** A type of Kubernetes as its client has it. */
function attributeOf(type: string): SchemaType {
  const [, item] = /^Array<(.*)>$/.exec(type) ?? /^Set<(.*)>$/.exec(type) ?? []
  if (item !== undefined) return attributeOf(item)
  const [, value] = /^\{ \[key: string\]: (.*); \}$/.exec(type) ?? []
  if (value !== undefined) return { fields: (): Fields => ({ '*': attributeOf(value) }) }
  const model = (kubernetes as Readonly<Record<string, unknown>>)[type] as Model | undefined
  const attributes = model?.getAttributeTypeMap?.() ?? []
  return { fields: () => Object.fromEntries(attributes.map((one) => [one.baseName, attributeOf(one.type)])) }
}

interface Model {
  readonly getAttributeTypeMap?: () => readonly { readonly baseName: string; readonly type: string }[]
}

describe('verdicts on what may be overridden', () => {
  it('are given for every path of KubeVirt’s VirtualMachine, and for no other', async () => {
    const seen = new Set<string>()
    const models: SchemaType = { fields: () => fieldsOfModel('V1VirtualMachineSpec') }
    expect(walk(models, OVERRIDE_ROOTS.vm, '', seen)).toEqual([])
    expect(seen.size).toBeGreaterThan(200)

    const { crds, source } = await foreignCrds()
    const crd = crds.find(({ metadata }) => metadata?.name === 'virtualmachines.kubevirt.io') as unknown as {
      readonly spec: { readonly versions: readonly { name: string; schema: { openAPIV3Schema: Structural } }[] }
    }
    const version = crd.spec.versions.find(({ name }) => name === 'v1')
    const spec = version?.schema.openAPIV3Schema.properties?.['spec'] ?? {}
    expect(walk(structural(spec), OVERRIDE_ROOTS.vm, '', seen)).toEqual([])
    // Our small CRD has only what we use.
    if (source === 'real') expect(pathsOf(OVERRIDE_ROOTS.vm).filter((path) => !seen.has(path))).toEqual([])
  })

  it('are given for every path of a pod template, and for no other', () => {
    const seen = new Set<string>()
    expect(walk(attributeOf('V1PodTemplateSpec'), OVERRIDE_ROOTS.pod, '', seen)).toEqual([])
    expect(seen.size).toBeGreaterThan(150)
    expect(pathsOf(OVERRIDE_ROOTS.pod).filter((path) => !seen.has(path))).toEqual([])
  })
})
