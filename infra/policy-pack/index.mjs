// Pulumi's runner compiles a TypeScript policy pack with its own compiler, which does not know our imports. Node runs the pack as it is.
import './pack.ts'
