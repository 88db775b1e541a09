import type { OpenAPIObject, SchemaObject } from '@nestjs/swagger';
import { readDocument } from '../support/documents/markdown';
import { differences } from './openapi-differences';

const released = JSON.parse(readDocument('test/fixtures/releases/0.1.0.openapi.json')) as OpenAPIObject;
const current = JSON.parse(readDocument('openapi.json')) as OpenAPIObject;

const EXECUTIONS = ['POST /api/v1/agents/{id}/execute', 'GET /api/v1/executions/{id}'];
const DECISIONS = [
  'GET /api/v1/decisions/{id}',
  'POST /api/v1/decisions/{id}/approve',
  'POST /api/v1/decisions/{id}/reject',
];

describe('openapi.json, for a client of 0.1.0', () => {
  it('differs only in what is listed here', () => {
    expect(differences(released, current)).toEqual({
      // An approval precedes its execution, which can end without having begun.
      'answer 200.outcome may now be approved, rejected, expired, cancelled': EXECUTIONS,
      'answer 200.data[].outcome may now be approved, rejected, expired, cancelled': ['GET /api/v1/executions'],
      'answer 200.status may now be cancelled': DECISIONS,
      'answer 200.data[].status may now be cancelled': ['GET /api/v1/decisions'],
      'answer 201.status may now be cancelled': ['POST /api/v1/decisions'],
      // Keys that are bound to no person propose changes.
      'answer 200.proposedBy was string and is string | null': DECISIONS,
      'answer 200.data[].proposedBy was string and is string | null': ['GET /api/v1/decisions'],
      'answer 201.proposedBy was string and is string | null': ['POST /api/v1/decisions'],
      // A verification also notices what took the place of a table.
      'answer 200.firstInvalidDerived[].data may now be sum, table': ['POST /api/v1/provenance/verify'],
      // On a verification the key was never needed; there it means nothing now.
      'request header Idempotency-Key is gone': ['POST /api/v1/provenance/verify'],
      'answer 409 is gone': ['POST /api/v1/provenance/verify'],
      // Callers may use a token of an issuer.
      'answer 200.audit.actor.type may now be token, slack': ['GET /api/v1/provenance/{sequence}'],
      'answer 200.data[].actor.type may now be token, slack': ['GET /api/v1/audit'],
      // An erased entry has null as its details.
      'answer 200.audit.details was object and is object | null': ['GET /api/v1/provenance/{sequence}'],
      'answer 200.data[].details was object and is object | null': ['GET /api/v1/audit'],
    });
  });
});

describe('the comparison of two documents', () => {
  const before = documentOf({ size: { type: 'integer', enum: [1, 2] } }, { name: { type: 'string' } });
  const without = { ...before, paths: {} };

  it.each<[string, OpenAPIObject, string]>([
    ['an operation that is gone', without, 'is gone'],
    ['a member that is gone', documentOf({}, { name: { type: 'string' } }), 'request body.size is gone'],
    [
      'a value that is no longer accepted',
      documentOf({ size: { type: 'integer', enum: [1] } }),
      'request body.size may no longer be 2',
    ],
    ['another type', documentOf({}, { name: { type: 'integer' } }), 'answer 200.name was string and is integer'],
    [
      'a member that may be null now',
      documentOf({}, { name: { type: 'string', nullable: true } }),
      'answer 200.name was string and is string | null',
    ],
    [
      'a member that may be missing now',
      documentOf({}, { name: { type: 'string' } }, []),
      'answer 200.name is not required now',
    ],
    [
      'a new required member',
      documentOf({ unit: { type: 'string' } }, {}, ['unit']),
      'request body.unit is new and required',
    ],
  ])('finds %s', (_name, after, line) => {
    expect(differences(before, after)).toHaveProperty([line], ['POST /sizes']);
  });

  it('reports nothing that was only added', () => {
    const more: Properties = { size: { type: 'integer', enum: [1, 2, 3] }, unit: { type: 'string' } };
    const after = documentOf(more, { name: { type: 'string' }, unit: { type: 'string' } });
    expect(differences(before, after)).toEqual({});
  });
});

type Properties = Record<string, SchemaObject>;

/** A document with one operation that accepts and returns an object with these members. */
function documentOf(sent: Properties, responseMembers: Properties = {}, required = ['name']): OpenAPIObject {
  const content = (properties: Properties) => ({
    'application/json': { schema: { type: 'object', properties, required } },
  });
  const responses = { 200: { description: 'It.', content: content(responseMembers) } };
  const post = { requestBody: { content: content(sent) }, responses };
  return { openapi: '3.0.3', info: { title: 'Sizes', version: '1' }, paths: { '/sizes': { post } } };
}
