import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { INSTALLATION_PARTS, renderInstallation } from '@open-terrain/constructs/platform'
import { transformSync } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const MODULES = join(ROOT, 'node_modules')
const IMAGE = `registry.example/open-terrain/operator@sha256:${'a'.repeat(64)}`
const NPM_OPTIONS = ['--ignore-scripts', '--no-audit', '--no-fund']
const run = promisify(execFile)

/** The packages of npm that have Node and nothing else. */
const NODE = `node-${process.platform}-${process.arch}`
/** The oldest compiler that reads our declarations. */
const TYPESCRIPT = '5.4'
/** Whose template is tried. */
const CDK8S_CLI = '2.207.60'
const FORMATS = [
  ['ES modules', 'mjs'],
  ['CommonJS', 'cjs'],
] as const

/** A library of a team for CommonJS, and a program of ES modules that uses it: both have the same classes. */
const TEAM_LIBRARY = `
import { LabNetwork, LabVm, Workspace } from '@open-terrain/constructs'
import { Construct } from 'constructs'
export class Router extends Construct {
  readonly vm: LabVm
  constructor(scope: Construct, id: string, uplink: LabNetwork) {
    super(scope, id)
    this.vm = new LabVm(this, id, { image: 'router', cpu: 1, memory: '512Mi' }).connect(uplink, 1)
  }
}
export const isOurs = (lab: Workspace, net: LabNetwork) => lab instanceof Workspace && net instanceof LabNetwork
`
const TEAM_PROGRAM = `
import { LabVm, Workspace } from '@open-terrain/constructs'
import { App, Chart } from 'cdk8s'
import { isOurs, Router } from './team.cjs'
const lab: Workspace = new Workspace(new Chart(new App(), 'labs'), 'lab')
const net = lab.addNetwork('net', { cidr: '10.0.0.0/24' })
const vm: LabVm = new Router(lab, 'router', net).vm
net.setGateway(vm)
console.log(isOurs(lab, net), JSON.stringify(lab.toJson()).includes('"rangeGateway":"10.0.0.1"'))
`

/** Runs a program of Pulumi on its mocks. Pulumi applies a Workspace, which is then looked for where no cluster is. */
const MOCKED = `
import { runtime } from '@pulumi/pulumi'
const types = [], errors = []
process.on('unhandledRejection', ({ message }) => errors.push(message))
const newResource = ({ type, name, inputs }) => {
  types.push(type)
  const uid = inputs.kind === 'Workspace' ? 'one' : undefined
  return { id: name, state: { ...inputs, metadata: { ...inputs.metadata, uid } } }
}
process.on('exit', () => {
  console.log(JSON.stringify({ types: types.filter((type) => type.startsWith('kubernetes:')), errors }))
})
runtime.setMocks({ call: () => ({}), newResource }).then(() => import(process.argv[2]))
`

/** Has the compiler of the first argument say what is wrong with programs and with what they load of ours. The declarations of others keep an old one busy for long. */
const COMPILED = `
const [ts, sources] = [require(process.argv[1]), process.argv.slice(2)]
const { ModuleKind, ScriptTarget } = ts
const program = ts.createProgram(sources, {
  strict: true, noEmit: true, target: ScriptTarget.ES2022, module: ModuleKind.Node16,
})
const isOurs = ({ fileName }) => !fileName.includes('/node_modules/') || fileName.includes('/@open-terrain/')
const found = program.getSourceFiles().filter(isOurs).flatMap((file) => ts.getPreEmitDiagnostics(program, file))
const host = { ...ts.sys, getCanonicalFileName: (name) => name, getCurrentDirectory: process.cwd, getNewLine: () => '\\n' }
process.stdout.write(ts.formatDiagnostics(found, host))
`

let folder: string
let files: Readonly<Record<string, string>>
/** The oldest Node, and ours. */
let nodes: readonly [oldest: string, ours: string]
/** The module of the oldest that reads our declarations, and the program of ours. */
let compilers: readonly [oldest: string, ours: string]

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-packages-'))
  execFileSync(process.execPath, [join(ROOT, 'tooling/pack/main.ts')], {
    env: { ...process.env, OPERATOR_IMAGE: IMAGE },
  })
  const made = join(ROOT, 'dist/packages')
  files = Object.fromEntries(
    readdirSync(made).map((file) => [
      file.replace(/^open-terrain-(.+)-[\d.]+[.]tgz$/, '@open-terrain/$1'),
      join(made, file),
    ]),
  )
  const tools = project('tools')
  npm(
    tools,
    ['install', ...NPM_OPTIONS],
    [`node-oldest@npm:${NODE}@20`, `typescript-oldest@npm:typescript@~${TYPESCRIPT}.0`],
  )
  nodes = [join(tools, 'node_modules/node-oldest/bin/node'), process.execPath]
  compilers = [join(tools, 'node_modules/typescript-oldest'), join(MODULES, 'typescript-7/bin/tsc')]
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function npm(cwd: string, ...args: readonly (readonly string[])[]): string {
  return execFileSync('npm', args.flat(), { cwd, encoding: 'utf8' })
}

/** An empty project. */
function project(name: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name, private: true }))
  return path
}

/**
 * A project from the template of `cdk8s init typescript-app`, file by file. The command itself is not run: after that it imports the types of Kubernetes, from
 * GitHub and not from npm. They are no part of a lab, and so is the command no part of the project here.
 */
function initialized(): string {
  const tools = join(folder, 'tools')
  npm(tools, ['pack', '--silent', `cdk8s-cli@${CDK8S_CLI}`])
  execFileSync('tar', ['xzf', `cdk8s-cli-${CDK8S_CLI}.tgz`], { cwd: tools })
  const { dependencies } = JSON.parse(readFileSync(join(tools, 'package/package.json'), 'utf8'))
  const versionOf = (name: string) => String(dependencies[name]).replace('^', '')
  const words: Readonly<Record<string, string>> = {
    $base: 'init',
    cdk8s_core_version: versionOf('cdk8s'),
    cdk8s_plus_version: versionOf('cdk8s-plus-33'),
    constructs_version: versionOf('constructs'),
    cdk8s_cli_spec: `^${CDK8S_CLI}`,
  }
  const [template, cwd] = [join(tools, 'package/templates/typescript-app'), project('init')]
  for (const file of ['cdk8s.yaml', 'jest.config.js', 'main.test.ts', 'main.ts', 'package.json', 'tsconfig.json']) {
    const text = readFileSync(join(template, file), 'utf8')
    writeFileSync(
      join(cwd, file),
      text.replaceAll(/\{\{ (\S+) \}\}/g, (_match, word) => words[word] ?? ''),
    )
  }
  const { devDependencies, ...manifest } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))
  const { 'cdk8s-cli': _command, ...others } = devDependencies
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ ...manifest, devDependencies: others }))
  return cwd
}

interface Text {
  /** What people type, with files in the place of our packages. */
  readonly install: readonly string[]
  readonly program: string
}

/** The first command and the first program after a title, or in the whole file. */
function textOf(file: string, title = ''): Text {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const part = text.slice(text.indexOf(title))
  const [install = '', program = ''] = ['sh', 'ts'].map(
    (language) => new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(part)?.[1],
  )
  expect(install).toMatch(/^npm install /)
  return {
    install: install
      .trim()
      .split(' ')
      .slice(1)
      .map((word) => files[word] ?? word),
    program,
  }
}

/** Writes a program of ES modules in both formats. */
function writeProgram(cwd: string, name: string, code: string): void {
  writeFileSync(join(cwd, `${name}.mts`), code)
  writeFileSync(join(cwd, `${name}.cts`), code)
  writeFileSync(join(cwd, `${name}.mjs`), transformSync(code, { loader: 'ts' }).code)
  const commonJs = transformSync(code, { loader: 'ts', format: 'cjs', platform: 'node', target: 'node20' })
  writeFileSync(join(cwd, `${name}.cjs`), commonJs.code)
}

/** What both compilers say. Ours checks the declarations of all packages too, unless an option says otherwise. */
async function compiled(
  cwd: string,
  sources: readonly string[],
  ...more: readonly string[]
): Promise<readonly string[]> {
  const [oldest, ours] = compilers
  const options = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'node16', ...more]
  const [old, own] = await Promise.all([
    run(process.execPath, ['--eval', COMPILED, oldest, ...sources], { cwd }),
    // It fails where it has something to say.
    run(process.execPath, [ours, ...options, ...sources], { cwd }).catch((error) => error),
  ])
  return [old.stdout, own.stdout]
}

describe('the packages', () => {
  it('have no mistake in their manifests that tools know of, and tell the same to all who resolve modules', async () => {
    expect(Object.keys(files).sort()).toEqual(['@open-terrain/cli', '@open-terrain/constructs', '@open-terrain/infra'])
    for (const [name, file] of Object.entries(files)) {
      const { stdout } = await run(process.execPath, [join(MODULES, 'publint/src/cli.js'), file, '--strict'])
      expect(stdout).toContain('All good!')
      if (name.endsWith('cli')) continue
      const attw = join(MODULES, '@arethetypeswrong/cli/dist/index.js')
      expect((await run(process.execPath, [attw, file])).stdout).toContain('No problems found')
    }
  })

  it('are installed by npm into an empty folder, and render a lab, as the docs say, with the same classes for ES modules and CommonJS', async () => {
    const cwd = project('author')
    const { install, program } = textOf('docs/constructs.md', '## In a project of your own')
    expect(textOf('constructs/README.md')).toEqual({ install, program })
    npm(cwd, install, NPM_OPTIONS)
    writeProgram(cwd, 'lab', program)
    const rendered = new Set<string>()
    for (const node of nodes)
      for (const [, format] of FORMATS) {
        rmSync(join(cwd, 'dist'), { recursive: true, force: true })
        expect(await run(node, [`lab.${format}`], { cwd })).toEqual({ stdout: '', stderr: '' })
        rendered.add(readFileSync(join(cwd, 'dist/labs.k8s.yaml'), 'utf8'))
      }
    const [lab, ...others] = rendered
    expect(others).toEqual([])
    expect(lab).toContain('kind: Workspace')
    // Platform teams have one package more.
    npm(cwd, ['install', ...NPM_OPTIONS, 'cdk8s-plus-29'])
    const platform = `import { renderInstallation } from '@open-terrain/constructs/platform'\nrenderInstallation({ image: '${IMAGE}' })\n`
    writeProgram(cwd, 'platform', platform)
    for (const node of nodes) for (const [, format] of FORMATS) await run(node, [`platform.${format}`], { cwd })
    writeProgram(cwd, 'team', TEAM_LIBRARY)
    writeProgram(cwd, 'program', TEAM_PROGRAM)
    for (const node of nodes) expect((await run(node, ['program.mjs'], { cwd })).stdout).toBe('true true\n')
    const sources = ['lab.mts', 'lab.cts', 'platform.mts', 'platform.cts', 'team.cts', 'program.mts']
    expect(await compiled(cwd, sources)).toEqual(['', ''])
  })

  it('build in what cdk8s init makes of its template for TypeScript, unchanged but for a lab', () => {
    const cwd = initialized()
    const main = join(cwd, 'main.ts')
    const lab = `const lab = new Workspace(this, 'redblue')
    const control = lab.addNetwork('control', { cidr: '10.10.0.0/24' })
    lab.addVm('kali', { image: 'kali', cpu: 2, memory: '2Gi' }).connect(control, 11)`
    const text = readFileSync(main, 'utf8').replace('// define resources here', lab)
    writeFileSync(main, `import { Workspace } from '@open-terrain/constructs';\n${text}`)
    npm(cwd, ['install', ...NPM_OPTIONS, files['@open-terrain/constructs'] ?? ''])
    npm(cwd, ['run', 'compile'])
    npm(cwd, ['run', 'test', '--', '-u'])
    // What its cdk8s.yaml has `cdk8s synth` run.
    expect(readFileSync(join(cwd, 'cdk8s.yaml'), 'utf8')).toContain('app: npx ts-node main.ts')
    // The types are checked above.
    const env = { ...process.env, TS_NODE_TRANSPILE_ONLY: 'true' }
    execFileSync(nodes[0], [join(cwd, 'node_modules/.bin/ts-node'), 'main.ts'], { cwd, env })
    expect(readFileSync(join(cwd, 'dist/init.k8s.yaml'), 'utf8')).toContain('kind: Workspace')
  })

  it('install the operator and a lab in programs of Pulumi, as the docs say', async () => {
    const cwd = project('program')
    const platform = textOf('docs/pulumi.md', '## In other programs')
    const team = textOf('infra/README.md')
    npm(cwd, platform.install, NPM_OPTIONS)
    writeProgram(cwd, 'main', MOCKED)
    writeProgram(cwd, 'platform', platform.program)
    writeProgram(cwd, 'team', team.program)
    const installation = renderInstallation({ image: IMAGE })
    const parts = INSTALLATION_PARTS.flatMap((part) => installation[part]).length
    const env = { ...process.env, KUBECONFIG: join(folder, 'none') }
    const mocked = async (node: string, format: string, program: string) => {
      const { stdout } = await run(node, [`main.${format}`, `./${program}.${format}`], { cwd, env })
      return JSON.parse(stdout) as { types: string[]; errors: string[] }
    }
    for (const [, format] of FORMATS) {
      const installed = await mocked(nodes[0], format, 'platform')
      expect(installed).toMatchObject({
        types: expect.arrayContaining(['kubernetes:apps/v1:Deployment']),
        errors: [],
      })
      expect(installed.types).toHaveLength(parts)
      const { types, errors } = await mocked(nodes[0], format, 'team')
      expect(types).toEqual(['kubernetes:pelotech.ot/v1alpha1:Workspace'])
      expect([...new Set(errors)]).toEqual([expect.stringContaining('the kubeconfig cannot be read')])
    }
    // The image of the release is the default, and the version is that of the package.
    const { version } = JSON.parse(readFileSync(join(cwd, 'node_modules/@open-terrain/infra/package.json'), 'utf8'))
    const defaults = `import { installationProps, parseConfig } from '@open-terrain/infra'\nconst { image, version } = installationProps(parseConfig({}))\nconsole.log(image, version)\n`
    writeProgram(cwd, 'defaults', defaults)
    for (const [, format] of FORMATS)
      expect((await run(nodes[1], [`defaults.${format}`], { cwd })).stdout).toBe(`${IMAGE} ${version}\n`)
    const sources = ['platform.mts', 'platform.cts', 'team.mts', 'team.cts']
    // Those of Pulumi are many.
    expect(await compiled(cwd, sources, '--skipLibCheck')).toEqual(['', ''])
  })

  it('have a command line, which is one file', async () => {
    const cwd = project('shell')
    npm(cwd, ['install', ...NPM_OPTIONS, files['@open-terrain/cli'] ?? ''])
    expect(readdirSync(join(cwd, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@open-terrain'])
    const { stdout } = await run(nodes[1], [join(cwd, 'node_modules/.bin/kubectl-ot'), '--help'])
    expect(stdout).toContain('labs')
    const version = (await run(nodes[0], ['-p', 'process.versions.node'])).stdout.trim()
    // An older Node says in one sentence what it lacks.
    await expect(run(nodes[0], [join(cwd, 'node_modules/.bin/ot'), '--help'])).rejects.toMatchObject({
      stderr: `ot: it needs Node 24 or newer, and this is Node ${version}: install a newer one\n`,
    })
  })
})
