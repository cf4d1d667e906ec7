import { describe, expect, it } from 'vitest'
import { bundledPackages, lockfileOf } from './sbom.ts'

describe('the list of packages of a bundle', () => {
  it('has what is in the bundle: scoped and nested packages once, and none of which nothing is left', () => {
    const inputs = {
      'operator/main.ts': { bytesInOutput: 9 },
      'node_modules/pino/lib/a.js': { bytesInOutput: 1 },
      'node_modules/pino/lib/b.js': { bytesInOutput: 1 },
      '../elsewhere/node_modules/@scope/one/index.js': { bytesInOutput: 1 },
      'node_modules/a/node_modules/b/index.js': { bytesInOutput: 1 },
      'node_modules/unused/index.js': { bytesInOutput: 0 },
      'late:node_modules/a/node_modules/late/index.js.cjs': { bytesInOutput: 1 },
    }
    expect(bundledPackages({ outputs: { 'dist/operator.mjs': { inputs } } })).toEqual([
      'node_modules/@scope/one',
      'node_modules/a/node_modules/b',
      'node_modules/pino',
    ])
  })

  it('is a lockfile with the versions that are locked, and nothing that is not in the bundle', () => {
    const packages = {
      'node_modules/pino': { version: '1.0.0', dependencies: { other: '1' }, license: 'MIT' },
      'node_modules/pino/node_modules/b': { version: '2.0.0' },
      'node_modules/other': { version: '3.0.0' },
    }
    const paths = ['node_modules/pino', 'node_modules/pino/node_modules/b']
    expect(lockfileOf(paths, { version: '0.1.0', packages })).toMatchObject({
      dependencies: { pino: '1.0.0' },
      packages: {
        'node_modules/pino': { version: '1.0.0', license: 'MIT' },
        'node_modules/pino/node_modules/b': { version: '2.0.0' },
      },
    })
    expect(JSON.stringify(lockfileOf(paths, { version: '0.1.0', packages }))).not.toContain('other')
    expect(() => lockfileOf(['node_modules/new'], { version: '0.1.0', packages })).toThrow(
      'package-lock.json has no node_modules/new, which is in the bundle: run npm install',
    )
  })
})
