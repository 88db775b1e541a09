import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { optionalMark, shown } from '../../http/validation/field-text';
import { CheckedBy, type FaultInside } from '../../http/validation/member-rule';
import { unknownMembers } from '../../http/validation/unknown-members';
import { parseTimestampOrDate } from '../../http/validation/timestamp';
import type { ReplayPeriod } from '../replays';

const MEMBERS = ['from', 'to'] as const;

/** The period of a replay as sent in a request; null counts as left out. */
export type GivenReplay = Readonly<Partial<Record<(typeof MEMBERS)[number], string | null>>>;

/** The period whose executions are evaluated again. */
export function ReplayField(): PropertyDecorator {
  const time = (description: string): object => ({
    type: 'string',
    ...shown({ optional: true, description, example: '2026-01-01' }),
  });
  return applyDecorators(
    ...optionalMark({ optional: true }),
    CheckedBy('replay', replayFault),
    ApiProperty({
      type: 'object',
      additionalProperties: false,
      properties: {
        from: time('Executions begun from this time on: RFC 3339 with a zone, or a date (midnight UTC).'),
        to: time('Executions begun up to and including this time.'),
      },
      selfRequired: false,
      ...shown({
        optional: true,
        description: 'Also evaluate recorded executions again, each with its agent as it was then, the newest first.',
      }),
    } as object),
  );
}

/** The times of a valid replay period. */
export function replayPeriod({ from, to }: GivenReplay): ReplayPeriod {
  return { from: timeOf(from), to: timeOf(to) };
}

function replayFault(value: unknown): string | readonly FaultInside[] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  const members = value as Readonly<Record<string, unknown>>;
  const faults = [
    ...unknownMembers(members, MEMBERS),
    ...MEMBERS.filter((name) => !isTime(members[name])).map((name) => ({
      at: `.${name}`,
      message: 'must be an RFC 3339 time with a zone, or a date',
    })),
  ];
  if (faults.length > 0) return faults;
  const { from, to } = replayPeriod(members);
  const isOrdered = from === undefined || to === undefined || from <= to;
  return isOrdered ? undefined : [{ at: '.from', message: 'must not be later than to' }];
}

function isTime(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && timeOf(value) !== undefined);
}

function timeOf(text: string | null | undefined): string | undefined {
  return text === null || text === undefined ? undefined : parseTimestampOrDate(text);
}
