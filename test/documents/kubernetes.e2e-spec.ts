import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { readDocument, ROOT } from '../support/documents/markdown';
import { parseYamlFile } from '../support/documents/yaml';
import { run } from '../support/processes/shell';

const FOLDER = 'deploy/kubernetes';

/** The package `kubernetes-types` has the schemas of Kubernetes 1.30 as types, which allow no unknown member. */
const SCHEMAS: Readonly<Record<string, readonly [module: string, type: string]>> = {
  Service: ['core/v1', 'Service'],
  StatefulSet: ['apps/v1', 'StatefulSet'],
  PodDisruptionBudget: ['policy/v1', 'PodDisruptionBudget'],
  NetworkPolicy: ['networking/v1', 'NetworkPolicy'],
};

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
  readonly configMapGenerator: readonly { readonly name: string; readonly literals: readonly string[] }[];
}

interface Variable {
  readonly name: string;
  readonly valueFrom: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

interface Probe {
  readonly httpGet: { readonly path: string };
}

interface StatefulSet {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly securityContext: object;
        readonly containers: readonly {
          readonly image: string;
          readonly env: readonly Variable[];
          readonly startupProbe: Probe;
          readonly livenessProbe: Probe;
          readonly readinessProbe: Probe;
          readonly securityContext: object;
        }[];
      };
    };
  };
}

// Independent of the database, so once is enough.
describeOnSqlite('The manifests for Kubernetes', () => {
  let kustomization: Kustomization;
  let manifests: readonly (readonly [file: string, manifest: Manifest])[];

  beforeAll(async () => {
    kustomization = await parseYamlFile<Kustomization>(`${FOLDER}/kustomization.yaml`);
    manifests = await Promise.all(
      kustomization.resources.map(async (file) => [file, await parseYamlFile<Manifest>(`${FOLDER}/${file}`)] as const),
    );
  });

  /** Errors of the compiler for a program in which each manifest is a literal of its schema's type. */
  async function schemaFaults(sources: readonly (readonly [string, Manifest])[]): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'kubernetes-'));
    try {
      for (const [file, manifest] of sources) {
        const [module = '', type = ''] = SCHEMAS[manifest.kind] ?? [];
        const from = join(ROOT, 'node_modules', 'kubernetes-types', module);
        const source = `import type { ${type} } from '${from}';\nexport const manifest: ${type} = ${JSON.stringify(manifest)};\n`;
        writeFileSync(join(folder, file.replace('.yaml', '.ts')), source);
      }
      const options = ['--noEmit', '--strict', '--module', 'node20', '--skipLibCheck', '--types', ''];
      const compiler = join(ROOT, 'node_modules', 'typescript-7', 'bin', 'tsc');
      const files = sources.map(([file]) => file.replace('.yaml', '.ts'));
      return (await run(process.execPath, [compiler, ...options, ...files], { folder })).output;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it('are all named, and nothing else lies beside them', () => {
    const files = readdirSync(join(ROOT, FOLDER)).filter((file) => file !== 'kustomization.yaml');
    expect([...kustomization.resources].sort()).toEqual(files.sort());
  });

  it('follow the schemas of Kubernetes', async () => {
    expect(manifests.map(([, { kind }]) => kind).sort()).toEqual(Object.keys(SCHEMAS).sort());
    expect(
      manifests.filter(([, { kind, apiVersion }]) => !SCHEMAS[kind]?.[0].endsWith(apiVersion.split('/').at(-1) ?? '-')),
    ).toEqual([]);
    expect(await schemaFaults(manifests)).toBe('');
  });

  it('would be refused with a member that Kubernetes does not know', async () => {
    const misspelt = manifests.map(
      ([file, manifest]) => [file, JSON.parse(JSON.stringify(manifest).replace('"spec"', '"specs"'))] as const,
    );
    const faults = await schemaFaults(misspelt as [string, Manifest][]);
    for (const [file] of manifests) expect(faults).toContain(file.replace('.yaml', '.ts'));
  });

  it('run two replicas that gain no rights and write only to their volumes', () => {
    const { spec } = statefulSet();
    const [container] = spec.template.spec.containers;
    expect(spec.replicas).toBe(2);
    expect(spec.template.spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('probe the paths that the service has', () => {
    const [container] = statefulSet().spec.template.spec.containers;
    const paths = [container?.startupProbe, container?.livenessProbe, container?.readinessProbe].map(
      (probe) => probe?.httpGet.path,
    );
    expect(paths).toEqual(['/api/v1/health/live', '/api/v1/health/live', '/api/v1/health/ready']);
    const document = JSON.parse(readDocument('openapi.json')) as { paths: object };
    for (const path of paths) expect(Object.keys(document.paths)).toContain(path);
  });

  it('name only settings of the service, and take each secret from the secret that the guide creates', () => {
    const [container] = statefulSet().spec.template.spec.containers;
    const literals = kustomization.configMapGenerator.flatMap((map) =>
      map.literals.map((literal) => literal.split('=')[0]),
    );
    const variables = container?.env ?? [];
    const settings = readDocument('docs/settings.md');
    for (const name of [...literals, ...variables.map((variable) => variable.name)])
      expect(settings).toContain(`| \`${name}\` |`);
    const guide = readDocument('docs/operations.md').split('\n## Kubernetes\n')[1] ?? '';
    for (const { name, valueFrom } of variables) {
      expect(valueFrom.secretKeyRef).toEqual({ name: 'governance', key: name });
      expect(guide).toContain(`--from-literal=${name}=`);
    }
  });

  it('use the version of the package', () => {
    const { version } = JSON.parse(readDocument('package.json')) as { version: string };
    expect(kustomization.images).toEqual([{ name: 'agent-governance-service', newTag: version }]);
    expect(statefulSet().spec.template.spec.containers[0]?.image).toBe('agent-governance-service');
  });

  function statefulSet(): StatefulSet {
    return manifests.find(([, { kind }]) => kind === 'StatefulSet')?.[1] as unknown as StatefulSet;
  }
});
