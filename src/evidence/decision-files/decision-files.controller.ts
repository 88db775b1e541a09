import type { Readable } from 'node:stream';
import { Controller, Get, Param, Res, type StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import type { Response } from 'express';
import { DECISION } from '../../governance/decisions/decision.entity';
import { EXECUTION } from '../../governance/executions/execution.entity';
import { ClientSignal } from '../../http/responses/response-end';
import { streamedFile } from '../../http/responses/streamed-responses';
import { ApiRecordId } from '../../http/openapi/documentation.decorators';
import { Caller } from '../../http/input/caller.decorator';
import { ApiErrors, RequiresScope } from '../../http/request/routes';
import { DecisionFiles } from './decision-files.service';
import { DecisionFileResponse } from './dto/decision-file.response';

/** Response of both routes. */
const FILE = {
  type: DecisionFileResponse,
  description: 'The file, as an attachment. If it cannot be sent in full, the connection is reset.',
  headers: { 'Content-Disposition': { schema: { type: 'string' }, description: 'Names the file.' } },
} as const;

@ApiTags('Provenance')
@Controller()
export class DecisionFilesController {
  constructor(private readonly files: DecisionFiles) {}

  @Get('executions/:id/evidence')
  @RequiresScope('audit')
  @ApiRoute(
    'Download the decision file of an execution',
    'Everything that is needed to recompute what was decided, without the service: the entries of the execution, of ' +
      'its decision and of the agents that counted, each with its proof, and the policies that were in force. The ' +
      'text is in RFC 8785 form.',
  )
  @ApiRecordId(EXECUTION)
  @Answers(FILE)
  @ApiErrors('CONFLICT', 'CONTENT_ERASED')
  async get(
    @Caller() { ip: address }: Caller,
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StreamableFile> {
    return attachment(id, await this.files.openExecution(id, { address, signal }), response);
  }

  @Get('decisions/:id/evidence')
  @RequiresScope('audit')
  @ApiRoute(
    'Download the decision file of a change',
    'As of an execution, for a decision of the type `change` or `change_review`: who proposed and approved what, with the signatures, ' +
      'and the entries that the change has made, each with its proof. Any other decision is 409. Requires a change, as ' +
      '`FOUR_EYES` makes them.',
  )
  @ApiRecordId(DECISION)
  @Answers(FILE)
  @ApiErrors('CONFLICT', 'CONTENT_ERASED')
  async getOfChange(
    @Caller() { ip: address }: Caller,
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StreamableFile> {
    return attachment(id, await this.files.openChange(id, { address, signal }), response);
  }
}

function attachment(id: string, stream: Readable, response: Response): StreamableFile {
  const disposition = `attachment; filename="${id}.evidence.json"`;
  return streamedFile(stream, response, { type: 'application/json', disposition });
}
