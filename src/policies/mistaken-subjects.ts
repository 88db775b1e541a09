import { Injectable } from '@nestjs/common';
import { findAgent } from '../agents/find-agent';
import { RecordReader } from '../ledger/reading/record-reader';
import { parseSubject } from './patterns/subject-pattern';

/** Finds agents that were probably meant where a subject is read as one that is not an agent. */
@Injectable()
export class MistakenSubjects {
  constructor(private readonly records: RecordReader) {}

  /** Names the subjects that are read as `<type>:<id>` although an agent has that very name. */
  async warnings(subjects: readonly string[]): Promise<string[]> {
    const warnings = await Promise.all(subjects.map((subject) => this.warningOf(subject)));
    return warnings.flat();
  }

  private async warningOf(subject: string): Promise<string[]> {
    const pattern = parseSubject(subject);
    if (pattern.kind !== 'other' || pattern.id === '*') return [];
    if ((await findAgent(this.records, subject)) === undefined) return [];
    const { type, id } = pattern;
    return [
      `"${subject}" means "${id}" of the type "${type}", not the agent with that name, which is "agent:${subject}".`,
    ];
  }
}
