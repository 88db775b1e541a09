import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiList } from '../http/lists/api-list.decorator';
import { conditionsOf } from '../http/lists/conditions';
import { Lists } from '../http/lists/lists';
import type { ListAnswer } from '../http/lists/open-list';
import { EntryReader } from '../ledger/entry-reader';
import { AuditEntryResponse } from './dto/audit-entry.response';
import { AuditListQuery } from './dto/audit-list.query';

/** The audit view of the ledger's entries. */
@ApiTags('Audit')
@Controller('audit')
export class AuditController {
  constructor(
    private readonly entries: EntryReader,
    private readonly lists: Lists,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Read the audit trail' })
  @ApiList(AuditEntryResponse, 'Entries, newest first unless asked otherwise.')
  async list(@Query() query: AuditListQuery): Promise<ListAnswer<AuditEntryResponse>> {
    const list = this.lists.open('audit', query, { limit: 100, order: 'desc' });
    const conditions = conditionsOf(list.filters, {
      entityId: ['entityId', 'equals'],
      agentId: ['agentId', 'equals'],
      subjectId: ['subjectId', 'equals'],
      action: ['action', 'equals'],
      outcome: ['outcome', 'equals'],
      from: ['timestamp', 'atLeast'],
      to: ['timestamp', 'atMost'],
    });
    return list.answer(await this.entries.page(list.request(conditions)), AuditEntryResponse.from);
  }
}
