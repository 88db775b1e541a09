/**
 * Writes policies.schema.json, the JSON Schema of policy files, from openapi.json. With `--check` it writes nothing,
 * and the exit code is 1 if the file would change.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';

const REFERENCE = '#/components/schemas/';
/** The members of a policy file, and their schemas in the API. */
const DEFINITIONS = { policy: 'CreatePolicyRequest', test: 'PolicyTestRequest', agent: 'CreateAgentRequest' };

/** Rules of the service for a policy or test as a whole, which a schema of members does not express. */
const WHOLE = {
  policy: {
    if: { required: ['approval'], properties: { approval: { type: 'object' } } },
    then: { properties: { effect: { const: 'require_approval' } } },
  },
  test: {
    oneOf: [
      { required: ['agent'], properties: { agent: { type: 'string' }, subject: { type: 'null' } } },
      { required: ['subject'], properties: { subject: { type: 'object' }, agent: { type: 'null' } } },
    ],
  },
};

const { schemas } = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')).components;

/** Converts a schema of OpenAPI 3.0 to JSON Schema, draft 7, which editors know best. */
function converted(schema) {
  if (Array.isArray(schema)) return schema.map(converted);
  if (typeof schema !== 'object' || schema === null) return schema;
  if (schema.$ref?.startsWith(REFERENCE)) return converted(schemas[schema.$ref.slice(REFERENCE.length)]);
  const { nullable, example, allOf, ...rest } = schema;
  const entries = Object.entries(rest).map(([name, value]) => [name, isValue(name) ? value : members(name, value)]);
  return {
    ...Object.assign({}, ...(allOf ?? []).map(converted)),
    ...Object.fromEntries(entries),
    ...(nullable === true && { type: [rest.type, 'null'] }),
    ...(example !== undefined && { examples: [example] }),
  };
}

function members(name, value) {
  if (name !== 'properties') return converted(value);
  return Object.fromEntries(Object.entries(value).map(([member, schema]) => [member, converted(schema)]));
}

function isValue(name) {
  return ['enum', 'default', 'required', 'type'].includes(name);
}

const listOf = (definition, description) => ({
  type: 'array',
  items: { $ref: `#/definitions/${definition}` },
  description,
});

const schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Policies, their tests, and agents',
  description: 'A file of policies of the agent governance service. All files of a folder together are one set.',
  type: 'object',
  additionalProperties: false,
  anyOf: ['policies', 'tests', 'agents'].map((name) => ({ required: [name] })),
  properties: {
    $schema: { type: 'string', description: 'Where this schema is, for editors.' },
    policies: listOf('policy', 'Each as in `POST /policies`. In all files of a folder together a name stands once.'),
    tests: listOf('test', 'Questions to the set of all files, with the answers expected.'),
    agents: listOf('agent', 'Each as in `POST /agents`, to be registered, or changed to this. Others are left alone.'),
  },
  definitions: Object.fromEntries(
    Object.entries(DEFINITIONS).map(([definition, name]) => [
      definition,
      { ...converted(schemas[name]), ...WHOLE[definition] },
    ]),
  ),
};

const path = join(root, 'policies.schema.json');
const text = `${JSON.stringify(schema, null, 2)}\n`;
if (!process.argv.includes('--check')) {
  writeFileSync(path, text);
  console.log(`Wrote ${path}`);
} else if (readFileSync(path, 'utf8') !== text) {
  console.log('policies.schema.json is stale: npm run openapi makes it anew.');
  process.exitCode = 1;
}
