import { ADOPTABLE_KINDS, ADOPTABLE_NAME } from '../api/adoption.ts'
import { ANNOTATIONS } from '../api/labels.ts'
import { GROUP, VERSION } from '../api/shared.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'
import { matchConstraints } from './match-constraints.ts'
import { sentence } from './policy-words.ts'

const adoptedIn = (object: string) => `${object}.metadata.?annotations['${ANNOTATIONS.adopt}'].orValue('')`
const KINDS = Object.values(ADOPTABLE_KINDS)
const wordsOf = (words: readonly string[]) => `variables.word in [${words.map((word) => `'${word}'`).join(', ')}]`
const [DATA_VOLUME, CLAIM, SNAPSHOT] = [
  ADOPTABLE_KINDS.DataVolume,
  ADOPTABLE_KINDS.PersistentVolumeClaim,
  ADOPTABLE_KINDS.VolumeSnapshot,
]
const chosen = (of: (kind: (typeof KINDS)[number]) => string) =>
  `${wordsOf(DATA_VOLUME.words)} ? '${of(DATA_VOLUME)}' : ${wordsOf(CLAIM.words)} ? '${of(CLAIM)}' : '${of(SNAPSHOT)}'`

/**
 * An image lends what it adopts to everybody who may use the image, and with `reclaimPolicy: Delete` deletes it. The operator does both with its own
 * rights. So the right of the user is checked when the annotation, or that field, is written: who may delete the object may have it
 * adopted. The operator adopts nothing while it does not see this policy, as it is here, and its binding.
 */
export const ADOPTION_POLICY = {
  failurePolicy: 'Fail',
  matchConstraints: matchConstraints({
    apiGroups: [GROUP],
    apiVersions: [VERSION],
    operations: ['CREATE', 'UPDATE'],
    resources: [vmDiskImage.plural],
  }),
  matchConditions: [
    { name: 'adopts', expression: `${adoptedIn('object')} != ''` },
    {
      name: 'is-new',
      expression: `request.operation == 'CREATE' || ${adoptedIn('object')} != ${adoptedIn('oldObject')} || object.?spec.?reclaimPolicy != oldObject.?spec.?reclaimPolicy`,
    },
  ],
  variables: [
    { name: 'parts', expression: `${adoptedIn('object')}.split('/')` },
    { name: 'word', expression: 'variables.parts[0].lowerAscii()' },
    { name: 'name', expression: "variables.parts.size() == 2 ? variables.parts[1] : ''" },
    { name: 'group', expression: chosen(({ group }) => group) },
    { name: 'resource', expression: chosen(({ plural }) => plural) },
  ],
  validations: [
    {
      expression: `(${KINDS.map(({ words }) => wordsOf(words)).join(' || ')}) && variables.name.size() <= 253 && variables.name.matches('${ADOPTABLE_NAME}')`,
      message: `annotation ${ANNOTATIONS.adopt} must be datavolume/NAME, persistentvolumeclaim/NAME or volumesnapshot/NAME`,
      messageExpression: sentence(
        `annotation ${ANNOTATIONS.adopt} must be datavolume/NAME, persistentvolumeclaim/NAME or volumesnapshot/NAME`,
      ),
    },
    {
      // A value that names nothing is refused above.
      expression:
        "variables.name == '' || authorizer.group(variables.group).resource(variables.resource).namespace(request.namespace).name(variables.name).check('delete').allowed()",
      reason: 'Forbidden',
      message: `annotation ${ANNOTATIONS.adopt} names an object that you may not delete`,
      messageExpression: sentence(
        'user "{request.userInfo.username}" may not delete {variables.resource} "{variables.name}" in namespace "{request.namespace}", ',
        `which annotation ${ANNOTATIONS.adopt} would have the image adopt: this needs the verb "delete" on it`,
      ),
    },
  ],
} as const
