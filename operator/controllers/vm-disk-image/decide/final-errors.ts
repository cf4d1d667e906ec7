import type { Reason, SourceType } from '@open-terrain/constructs/operator'

/** An error of CDI's importer that every retry repeats, by the words that the importer prints. */
export interface FinalError {
  /** Whole words of the program that says it: a bare 404 may be part of any request id, and a bare `AccessDenied` of any name of an object. */
  readonly phrase: RegExp
  readonly reason: Reason
  /** What CDI 1.65 prints. Its importer writes a line break as a space. */
  readonly samples: readonly string[]
  /** The importer prints the same for something that may pass: only two attempts in a row that end so are final. */
  readonly isHint?: true
}

/** How an attempt ended whose importer printed a text. */
export interface ErrorContext {
  readonly sourceType: SourceType | undefined
  /** The text of the failed attempt before this one. */
  readonly errorBefore: string | undefined
}

const s3 = (error: string) =>
  `Unable to connect to s3 data source: could not get s3 object: "images/a.qcow2": ${error}, request id: 4Z404, host id: h403`
const registry = (error: string) =>
  `Unable to process data: Unable to transfer source data to scratch space: Failed to read registry image: ${error}`
const http = (error: string) => `Unable to connect to http data source: ${error}`
const gcs = (error: string) => `Unable to connect to gcs data source: ${error}`
const convert = (error: string) => `Unable to process data: Unable to convert source data to target format: ${error}`

/**
 * Errors that no retry can fix, by source type, and those of every source type. The words are those of CDI 1.65, file by file, and of the libraries that
 * it quotes. An error of TLS is not here: a certificate is renewed without anybody touching the image.
 */
export const FINAL_ERRORS: Readonly<Record<SourceType | 'every', readonly FinalError[]>> = {
  every: [
    // pkg/importer/checksum.go. Its controller looks for these two words.
    {
      phrase: /\bchecksum mismatch\b/i,
      reason: 'ChecksumMismatch',
      samples: [
        'Unable to process data: Unable to transfer source data to scratch space: checksum validation failed: checksum mismatch: expected md5:0, calculated md5:1',
      ],
    },
    // pkg/image/qemu.go, pkg/importer/file.go, and in their place simplifyKnownMessage of pkg/controller/util.go.
    {
      phrase:
        /DataVolume too small to contain image|virtual image size \d+ is larger than the reported available|no space left on device|disk quota exceeded/i,
      reason: 'DiskTooSmall',
      samples: [
        'DataVolume too small to contain image',
        'Unable to process data: virtual image size 25769803776 is larger than the reported available storage 1073741824. A larger PVC is required',
        'Unable to process data: Unable to transfer source data to target file: unable to write to file: write /data/disk.img: no space left on device',
        'Unable to process data: Unable to transfer source data to target file: unable to write to file: write /data/disk.img: disk quota exceeded',
      ],
    },
    // checkIfURLIsValid of pkg/image/qemu.go, after the whole transfer.
    {
      phrase: /\bis invalid because it has invalid backing file |: Could not open backing file: /,
      reason: 'SourceInvalid',
      samples: [
        convert('Image /scratch/tmpimage is invalid because it has invalid backing file base.qcow2'),
        convert(
          "qemu-img: Could not open '/scratch/tmpimage': Could not open backing file: Could not open 'base.qcow2': No such file or directory , qemu-img execution failed: exit status 1",
        ),
      ],
    },
    // The same, and qemu-img itself, by pkg/image/qemu.go.
    {
      phrase: /: Invalid format \S+ for image |qemu-img: Could not open '[^']*': Unsupported qcow2 /,
      reason: 'SourceInvalid',
      samples: [
        convert('Invalid format parallels for image /scratch/tmpimage'),
        convert(
          "qemu-img: Could not open '/scratch/tmpimage': Unsupported qcow2 version 4 , qemu-img execution failed: exit status 1",
        ),
      ],
    },
    // NewHTTPDataSource, NewS3DataSource and NewGCSDataSource: Go cannot read the URL.
    {
      phrase: /: (?:GCS Importer: )?unable to parse endpoint "/,
      reason: 'SourceInvalid',
      samples: [
        http('unable to parse endpoint "https://h:x/a": parse "https://h:x/a": invalid port ":x" after host'),
        gcs(
          'GCS Importer: unable to parse endpoint "https://h:x/a": parse "https://h:x/a": invalid port ":x" after host',
        ),
      ],
    },
  ],

  // createHTTPReader of pkg/importer/http-datasource.go.
  http: [
    {
      phrase: /expected status code 200, got (?:401|402|403|451)\b/,
      reason: 'AccessDenied',
      samples: [
        http('expected status code 200, got 401. Status: 401 Unauthorized'),
        http('expected status code 200, got 403. Status: 403 Forbidden'),
      ],
    },
    {
      phrase: /expected status code 200, got (?:404|405|410|414)\b/,
      reason: 'NotFound',
      samples: [
        http('expected status code 200, got 404. Status: 404 Not Found'),
        http('expected status code 200, got 405. Status: 405 Method Not Allowed'),
        http('expected status code 200, got 410. Status: 410 Gone'),
      ],
    },
  ],

  // createS3Reader of pkg/importer/s3-datasource.go quotes aws-sdk-go: the code of the response, or, where it has none, the words of its status.
  s3: [
    {
      phrase:
        /": (?:AccessDenied|AllAccessDisabled|AccountProblem|InvalidAccessKeyId|InvalidObjectState|SignatureDoesNotMatch|ExpiredToken|InvalidToken|Forbidden|Unauthorized): /,
      reason: 'AccessDenied',
      samples: [
        s3('AccessDenied: Access Denied \tstatus code: 403'),
        s3('InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records. \tstatus code: 403'),
        s3(
          'SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. \tstatus code: 403',
        ),
        s3('ExpiredToken: The provided token has expired. \tstatus code: 400'),
        s3('Forbidden: Forbidden \tstatus code: 403'),
      ],
    },
    // A server or a proxy that answers with a page: service/s3/unmarshal_error.go.
    {
      phrase: /": SerializationError: failed to unmarshal error message\s+status code: (?:401|403)\b/,
      reason: 'AccessDenied',
      samples: [s3('SerializationError: failed to unmarshal error message \tstatus code: 403')],
    },
    // aws/credentials/static_provider.go: no credentials at all.
    {
      phrase: /": EmptyStaticCreds: /,
      reason: 'AccessDenied',
      samples: [
        'Unable to connect to s3 data source: could not get s3 object: "images/a.qcow2": EmptyStaticCreds: static credentials are empty',
      ],
    },
    {
      phrase: /": (?:NoSuchKey|NoSuchBucket|InvalidBucketName|MethodNotAllowed|NotFound|Gone): /,
      reason: 'NotFound',
      samples: [
        s3('NoSuchKey: The specified key does not exist. \tstatus code: 404'),
        s3('NoSuchBucket: The specified bucket does not exist \tstatus code: 404'),
        s3('NotFound: Not Found \tstatus code: 404'),
      ],
    },
    {
      phrase: /": SerializationError: failed to unmarshal error message\s+status code: (?:404|405|410)\b/,
      reason: 'NotFound',
      samples: [s3('SerializationError: failed to unmarshal error message \tstatus code: 404')],
    },
    // CDI takes the region from the host of the URL. A redirect is an error of the SDK.
    {
      phrase:
        /": (?:BucketRegionError|PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException): /,
      reason: 'WrongRegion',
      samples: [
        s3(
          "BucketRegionError: incorrect region, the bucket is not in 'eu-west-1' region at endpoint 's3.eu-west-1.amazonaws.com', bucket is in 'us-east-1' region \tstatus code: 301",
        ),
        s3(
          "AuthorizationHeaderMalformed: The authorization header is malformed; the region 's3' is wrong; expecting 'eu-west-1' \tstatus code: 400",
        ),
        s3(
          'PermanentRedirect: The bucket you are attempting to access must be addressed using the specified endpoint. \tstatus code: 301',
        ),
      ],
    },
  ],

  // pkg/importer/gcs-datasource.go quotes cloud.google.com/go/storage and googleapi. Google says 403 of a rate limit too.
  gcs: [
    {
      phrase:
        /googleapi: (?:got HTTP response code (?:401|403) with body: |Error (?:401|403): )(?!.*(?:rate ?limit ?exceeded|quota ?exceeded))/is,
      reason: 'AccessDenied',
      samples: [
        gcs(
          "googleapi: got HTTP response code 403 with body: <?xml version='1.0' encoding='UTF-8'?><Error><Code>AccessDenied</Code></Error>",
        ),
        gcs(
          "googleapi: got HTTP response code 401 with body: <?xml version='1.0' encoding='UTF-8'?><Error><Code>AuthenticationRequired</Code></Error>",
        ),
        gcs(
          'googleapi: Error 403: somebody does not have storage.objects.get access to the Google Cloud Storage object., forbidden',
        ),
      ],
    },
    {
      phrase: /storage: (?:object|bucket) doesn't exist/,
      reason: 'NotFound',
      samples: [gcs("storage: object doesn't exist"), gcs("storage: bucket doesn't exist")],
    },
  ],

  // pkg/importer/transport.go quotes containers/image, which words what distribution's errcode says. The message of a code is the registry's own.
  registry: [
    {
      phrase:
        /reading manifest \S+ in \S+: (?:(?:unauthorized|denied): |authentication required|requested access to the resource is denied|StatusCode: (?:401|403)\b)/,
      reason: 'AccessDenied',
      samples: [
        registry(
          'failed to pull image: reading manifest 42 in registry.example.com/fedora: requested access to the resource is denied',
        ),
        registry('failed to pull image: reading manifest 42 in registry.example.com/fedora: authentication required'),
        registry(
          'failed to pull image: reading manifest 42 in quay.io/a/b: unauthorized: access to the requested resource is not authorized',
        ),
        registry('failed to pull image: reading manifest 42 in ghcr.io/a/b: denied: permission_denied: no read access'),
        registry('failed to pull image: reading manifest 42 in h/b: StatusCode: 403, "<html>..."'),
      ],
    },
    {
      phrase:
        /unable to retrieve auth token: invalid username\/password: |(?:Requesting bearer token|Trying to obtain access token): invalid status code from registry 403 |pinging container registry \S+: (?:requested access to the resource is denied|denied: |StatusCode: 403\b)/,
      reason: 'AccessDenied',
      samples: [
        registry(
          'failed to pull image: unable to retrieve auth token: invalid username/password: unauthorized: incorrect username or password',
        ),
        registry('failed to pull image: Requesting bearer token: invalid status code from registry 403 (Forbidden)'),
        registry('failed to pull image: pinging container registry h: StatusCode: 403, "Forbidden"'),
      ],
    },
    {
      phrase:
        /reading manifest \S+ in \S+: (?:manifest unknown|name unknown|repository name not known to registry|StatusCode: 404\b)/,
      reason: 'NotFound',
      samples: [
        registry('failed to pull image: reading manifest 43 in registry.example.com/fedora: manifest unknown'),
        registry('failed to pull image: reading manifest 43 in ghcr.io/a/b: manifest unknown: no such manifest'),
        registry(
          'failed to pull image: reading manifest 1 in registry.example.com/none: repository name not known to registry',
        ),
        registry(
          'failed to pull image: reading manifest 1 in h/none: name unknown: The repository with name "none" does not exist',
        ),
        registry('failed to pull image: reading manifest 1 in h/none: StatusCode: 404, "404 page not found"'),
      ],
    },
    // The importer skips a layer that it cannot read, without a word, and says this when no other one has a disk.
    {
      phrase: /Failed to find VM disk image file in the container image/,
      reason: 'SourceInvalid',
      samples: [registry('Failed to find VM disk image file in the container image')],
      isHint: true,
    },
    // getImageFileName of pkg/importer/registry-datasource.go: not one file below /disk.
    {
      phrase:
        /Cannot locate image file: image (?:directory does not exist|directory contains |file does not exist in image directory - )/,
      reason: 'SourceInvalid',
      samples: [
        'Unable to process data: Unable to transfer source data to scratch space: Cannot locate image file: image directory does not exist',
        'Unable to process data: Unable to transfer source data to scratch space: Cannot locate image file: image directory contains another directory',
      ],
    },
    {
      phrase: /: Could not parse image: |Error sanitizing archive path: content filepath is tainted/,
      reason: 'SourceInvalid',
      samples: [
        registry('Could not parse image: invalid reference format'),
        registry('Error sanitizing archive path: content filepath is tainted: disk/../../a'),
      ],
    },
  ],

  // Nothing is downloaded.
  blank: [],
}

/** Errors that a retry may fix, so that they are not counted as unknown. They decide nothing. */
export const PASSING_ERRORS: readonly Pick<FinalError, 'phrase' | 'samples'>[] = [
  {
    phrase: /expected status code 200, got (?:408|425|429|5\d\d)\b/,
    samples: [
      http('expected status code 200, got 503. Status: 503 Service Unavailable'),
      http('expected status code 200, got 429. Status: 429 Too Many Requests'),
      http('expected status code 200, got 408. Status: 408 Request Timeout'),
    ],
  },
  {
    phrase: /": (?:InternalError|ServiceUnavailable|SlowDown|RequestTimeout|RequestTimeTooSkewed|TemporaryRedirect): /,
    samples: [
      s3('SlowDown: Please reduce your request rate. \tstatus code: 503'),
      s3(
        'RequestTimeTooSkewed: The difference between the request time and the current time is too large. \tstatus code: 403',
      ),
    ],
  },
  {
    phrase: /": SerializationError: failed to unmarshal error message\s+status code: (?:408|429|5\d\d)\b/,
    samples: [s3('SerializationError: failed to unmarshal error message \tstatus code: 502')],
  },
  {
    phrase: /googleapi: (?:got HTTP response code|Error) (?:408|429|5\d\d)\b|rate ?limit ?exceeded|quota ?exceeded/i,
    samples: [
      gcs('googleapi: got HTTP response code 503 with body: Service Unavailable'),
      gcs('googleapi: Error 403: The project exceeded the rate limit for reading objects., rateLimitExceeded'),
    ],
  },
  {
    phrase:
      /received unexpected HTTP status: 5\d\d\b|invalid status code from registry (?:408|5\d\d)\b|too ?many ?requests/i,
    samples: [
      registry('failed to pull image: reading manifest 42 in h/b: received unexpected HTTP status: 502 Bad Gateway'),
      registry(
        'failed to pull image: reading manifest 42 in h/b: toomanyrequests: You have reached your pull rate limit.',
      ),
      registry('failed to pull image: too many requests to registry'),
    ],
  },
  {
    phrase:
      /connection reset by peer|connection refused|broken pipe|i\/o timeout|TLS handshake timeout|no such host|server misbehaving|no route to host|network is unreachable|context deadline exceeded|\bEOF\b|\btls: |\bx509: /,
    samples: [
      http(
        'HTTP request errored: Get "https://h/404/403": read tcp 10.0.0.1:404->10.0.0.2:443: read: connection reset by peer',
      ),
      registry(
        'failed to pull image: pinging container registry h: Get "https://h/v2/": tls: failed to verify certificate: x509: certificate has expired',
      ),
      'Unable to process data: Unable to transfer source data to target file: failed to pull image: unexpected EOF',
    ],
  },
  // No word of an importer, but of its end: of the kubelet or of the operator.
  { phrase: /^the importer failed\b|^back-off |signal: killed/, samples: ['the importer failed, and left no message'] },
]

/** Twice what the kubelet keeps of an importer's text. A user who may write a status may make a text longer. */
const READ_LIMIT = 8_192

const FINAL_REASONS: ReadonlySet<string> = new Set(
  Object.values(FINAL_ERRORS).flatMap((errors) => errors.map(({ reason }) => reason)),
)

/** Reports whether a failure for this reason is final. */
export function isPermanent(reason: string): reason is Reason {
  return FINAL_REASONS.has(reason)
}

/** Returns the reason of an error that no retry can fix; undefined for any other one. */
export function finalReasonOf(text: string, { sourceType, errorBefore = '' }: ErrorContext): Reason | undefined {
  const error = finalErrorIn(text, sourceType)
  const isUnproven = error?.isHint === true && finalErrorIn(errorBefore, sourceType) !== error
  return isUnproven ? undefined : error?.reason
}

/** Reports whether neither table knows the error: somebody should look whether a retry can fix it. */
export function isUnknownError(text: string, sourceType: SourceType | undefined): boolean {
  return (
    finalErrorIn(text, sourceType) === undefined &&
    PASSING_ERRORS.every(({ phrase }) => !phrase.test(text.slice(0, READ_LIMIT)))
  )
}

function finalErrorIn(text: string, sourceType: SourceType | undefined): FinalError | undefined {
  const ofType = sourceType === undefined ? [] : FINAL_ERRORS[sourceType]
  const read = text.slice(0, READ_LIMIT)
  return [...ofType, ...FINAL_ERRORS.every].find(({ phrase }) => phrase.test(read))
}
