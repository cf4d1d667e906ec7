/**
 * A team's own stack. It needs no rights on the operator, only on its Workspace and its image. `pulumi up` ends when the lab is Ready, or fails with
 * the reason from the operator. In your own project, first run
 * `npm install @open-terrain/infra @open-terrain/constructs cdk8s constructs @pulumi/pulumi @pulumi/kubernetes`.
 *
 *   cd examples/pulumi-team && pulumi stack init dev && pulumi config set --secret password && pulumi up
 */
import { render, VMDiskImage, Workspace } from '@open-terrain/constructs'
import { Rendered } from '@open-terrain/infra'
import { Config } from '@pulumi/pulumi'

const config = new Config()
const version = config.require('version')
const router = `lab-router-${version.replaceAll('.', '-')}`

/** Stands for an output, because constructs check texts. */
const PASSWORD = 'password-of-the-stack'

// In one call, so that all mistakes are told at once, and the lab takes the image from where it is made.
const objects = render({
  images: (chart) => {
    new VMDiskImage(chart, 'router', {
      metadata: { name: router, namespace: 'vmdi-farm' },
      url: `https://images.example.com/router/${version}/disk.qcow2`,
      // The policy of the platform may have a default for it.
      sourceType: 'http',
      diskSize: '18Gi',
    })
  },
  lab: (chart) => {
    new Workspace(chart, 'lab', {
      metadata: { name: 'team-lab' },
      vms: [
        {
          name: 'router',
          baseVm: 'ubuntu_2004_lts_en-us_x64',
          baseVmVersion: '2.1.2',
          version,
          backingVMDiskImage: router,
          resources: { cpu: '2', memory: '2Gi' },
          // Who may read the lab in the cluster may read it too. The state of the stack has it encrypted.
          users: [{ name: 'student', plain_text_passwd: PASSWORD }],
          interfaces: [{ network: 'control', ipAddress: '10.10.0.161/24' }],
        },
      ],
      networks: [{ name: 'control', cidr: '10.10.0.0/24' }],
    })
  },
})

const images = new Rendered('images', { objects: objects.images })

const lab = new Rendered('lab', {
  objects: objects.lab,
  // In the same way, outputs of other resources.
  outputs: { [PASSWORD]: config.requireSecret('password') },
  // The hour begins when the image is ready.
  after: images.ready.apply(() => images.resources),
  timeout: '1h',
})

export const readyImages = images.ready
export const readyLabs = lab.ready
