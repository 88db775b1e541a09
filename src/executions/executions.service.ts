import { Injectable } from '@nestjs/common';
import { notFound } from '../errors/domain-error';
import type { Page, PageRequest } from '../ledger/record-page';
import { RecordReader } from '../ledger/record-reader';
import type { Execution } from './execution.entity';
import { EXECUTION } from './execution.kind';

/** Reads executions; `ExecuteService` makes them. */
@Injectable()
export class ExecutionsService {
  constructor(private readonly reader: RecordReader) {}

  list(request: PageRequest): Promise<Page<Execution>> {
    return this.reader.page(EXECUTION, request);
  }

  /** @throws NOT_FOUND */
  async get(id: string): Promise<Execution> {
    const execution = await this.reader.find(EXECUTION, id);
    if (execution === undefined) throw notFound('execution');
    return execution;
  }
}
