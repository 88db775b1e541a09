import { ApiProperty } from '@nestjs/swagger';
import { ApiCount, ApiMember, ApiNullableText } from '../../../http/openapi/response-members';
import { ActorResponse } from '../../../http/authentication/actor.response';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { membersNamed, type ShownMember } from '../../../ledger/records/record-text';
import type { JsonObject } from '../../../core/json/json-value';
import type { ParsedListedEntry } from '../../../ledger/reading/entry-reader';

export const ENTRY_OUTCOMES = ['success', 'denied', 'failed'] as const;

export class AuditEntryResponse {
  @ApiProperty({ example: sampleId('aud') })
  readonly id!: string;

  @ApiCount('Sequence of the provenance entry that seals it.', { minimum: 1 })
  readonly sequence!: number;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly timestamp!: string;

  @ApiProperty({ example: 'entity.created' })
  readonly action!: string;

  @ApiMember('Who authenticated.', { type: ActorResponse })
  readonly actor!: ActorResponse;

  @ApiNullableText('The agent that acted or was changed.')
  readonly agentId!: string | null;

  @ApiProperty({ type: String, nullable: true, example: sampleId('ent') })
  readonly entityId!: string | null;

  @ApiMember('Kind of the record the entry is about.', { example: 'entity' })
  readonly subjectType!: string;

  @ApiProperty({ example: sampleId('ent') })
  readonly subjectId!: string;

  @ApiProperty({ enum: ENTRY_OUTCOMES, enumName: 'EntryOutcome', example: 'success' })
  readonly outcome!: string;

  @ApiNullableText('Why it was denied or failed.')
  readonly reason!: string | null;

  @ApiMember(
    'Names of changed fields, ids, verdicts, policies, numbers; never free-form content. Null once erased, as are ' +
      '`reason`, `requestId` and `ip`.',
    { type: 'object', additionalProperties: true, nullable: true, example: {} },
  )
  readonly details!: JsonObject | null;

  @ApiProperty({ type: String, nullable: true, example: '01KAGQ5W3R8YB1N7Q4D6M2ZC9X' })
  readonly requestId!: string | null;

  @ApiProperty({ type: String, nullable: true, example: '127.0.0.1' })
  readonly ip!: string | null;

  /** Members that `from` shows, for lists. */
  static readonly members: readonly ShownMember[] = [
    { name: 'id', shows: 'auditId' },
    ...membersNamed(['sequence', 'timestamp', 'action']),
    {
      name: 'actor',
      shows: [
        { name: 'type', shows: 'actorType' },
        { name: 'id', shows: 'actorId' },
      ],
    },
    ...membersNamed([
      'agentId',
      'entityId',
      'subjectType',
      'subjectId',
      'outcome',
      'reason',
      'details',
      'requestId',
      'ip',
    ]),
  ];

  static from(this: void, entry: ParsedListedEntry): AuditEntryResponse {
    return {
      id: entry.auditId,
      sequence: entry.sequence,
      timestamp: entry.timestamp,
      action: entry.action,
      actor: { type: entry.actorType, id: entry.actorId },
      agentId: entry.agentId,
      entityId: entry.entityId,
      subjectType: entry.subjectType,
      subjectId: entry.subjectId,
      outcome: entry.outcome,
      reason: entry.reason,
      details: entry.details,
      requestId: entry.requestId,
      ip: entry.ip,
    };
  }
}
