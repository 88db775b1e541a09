import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApiRoute } from '../../http/openapi/response-members';
import { withAgentId } from '../../governance/agents/find-agent';
import { RequiresScope } from '../../http/request/routes';
import { ClientSignal } from '../../http/responses/response-end';
import { ApiList } from '../../http/lists/api-list.decorator';
import { conditionsOf } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import { AuditEntryResponse } from './dto/audit-entry.response';
import { AuditListQuery, ENTRY_FILTERS } from './dto/audit-list.query';

/** The audit view of the ledger's entries. */
@ApiTags('Audit')
@RequiresScope('audit')
@Controller('audit')
export class AuditController {
  constructor(
    private readonly entries: EntryReader,
    private readonly lists: Lists,
    private readonly records: RecordReader,
  ) {}

  @Get()
  @ApiRoute(
    'Read the audit trail',
    'Newest first. Each entry says who did what to which record, and with what outcome; refusals are recorded, too.',
  )
  @ApiList(AuditEntryResponse, 'Entries, newest first by default.')
  async list(
    @ClientSignal() signal: AbortSignal,
    @Query() query: AuditListQuery,
  ): Promise<ListAnswer<AuditEntryResponse>> {
    const list = await this.lists.open('audit', query, { limit: 100, order: 'desc' }, signal);
    const filters = await withAgentId(this.records, list.filters, 'agentId');
    const request = list.request(conditionsOf(filters, ENTRY_FILTERS));
    return list.answerShown(await this.entries.shownPage(AuditEntryResponse.members, request), AuditEntryResponse.from);
  }
}
