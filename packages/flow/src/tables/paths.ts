/** Where the tables of a pipeline are: children of its node. */
export interface PipelineTables {
  readonly inputMessages: string;
  readonly compactInputMessages: string;
  readonly compactOutputMessages: string;
  readonly compactPartitionOutputMessages: string;
  readonly states: string;
  readonly partitionStates: string;
  readonly timers: string;
  readonly flowState: string;
  readonly flowStateObsolete: string;
  readonly flowControl: string;
  readonly keyVisitorStates: string;
  readonly partitionTransactions: string;
  readonly leases: string;
  readonly controllerLogs: string;
}

export function pipelineTables(pipelinePath: string): PipelineTables {
  const at = (name: string): string => `${pipelinePath}/${name}`;
  return {
    inputMessages: at("input_messages"),
    compactInputMessages: at("compact_input_messages"),
    compactOutputMessages: at("compact_output_messages"),
    compactPartitionOutputMessages: at("compact_partition_output_messages"),
    states: at("states"),
    partitionStates: at("partition_states"),
    timers: at("timers"),
    flowState: at("flow_state"),
    flowStateObsolete: at("flow_state_obsolete"),
    flowControl: at("flow_control"),
    keyVisitorStates: at("key_visitor_states"),
    partitionTransactions: at("partition_transactions"),
    leases: at("leases"),
    controllerLogs: at("controller_logs"),
  };
}
