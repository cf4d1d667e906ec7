// Pulumi's runner compiles a policy pack that is TypeScript with a compiler of its own, which does not know our imports. Node runs it as it is.
import './pack.ts'
