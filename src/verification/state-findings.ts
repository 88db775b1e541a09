import type { RecordFault } from './state-check';

/** How many faults are listed by name. */
const NAMED_FAULTS = 10;

export interface InvalidRecord {
  readonly subjectType: string;
  readonly subjectId: string;
  readonly fault: RecordFault;
}

export const DERIVED_DATA = ['counter', 'listItems', 'head', 'table'] as const;

/** Counters by name, list items by the id of their record, the head by its column, tables by name. */
export interface InvalidDerived {
  readonly data: (typeof DERIVED_DATA)[number];
  readonly name: string;
}

/** What a verification of states found. */
export interface StateVerdict {
  readonly recordsVerified: number;
  readonly invalidRecords: number;
  readonly firstInvalidRecords: readonly InvalidRecord[];
  readonly invalidDerived: number;
  readonly firstInvalidDerived: readonly InvalidDerived[];
}

/** Counts faults and keeps the first ones. */
export class StateFindings {
  private recordsVerified = 0;
  private readonly records = new Findings<InvalidRecord>();
  private readonly derived = new Findings<InvalidDerived>();

  verified(records: number): void {
    this.recordsVerified += records;
  }

  addRecord(subjectType: string, subjectId: string, fault: RecordFault): void {
    this.records.add({ subjectType, subjectId, fault });
  }

  addDerived(data: InvalidDerived['data'], name: string): void {
    this.derived.add({ data, name });
  }

  get verdict(): StateVerdict {
    return {
      recordsVerified: this.recordsVerified,
      invalidRecords: this.records.count,
      firstInvalidRecords: this.records.first,
      invalidDerived: this.derived.count,
      firstInvalidDerived: this.derived.first,
    };
  }
}

class Findings<Fault> {
  count = 0;
  readonly first: Fault[] = [];

  add(fault: Fault): void {
    this.count += 1;
    if (this.first.length < NAMED_FAULTS) this.first.push(fault);
  }
}
