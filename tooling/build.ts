// Makes one file of each of our programs: dist/operator.mjs and dist/ot.mjs.

await import('../operator/build.ts')
await import('../cli/build.ts')
