import { sourceUrlSuite } from './source-url-suite.ts'

sourceUrlSuite({ every: 1 })
