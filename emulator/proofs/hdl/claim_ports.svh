// Ports of every claim: what goes into the node and comes out of it. Links and mailboxes by PORT_*.
    input logic                        clk_i,
    input logic                        ready_i,      // reset is over
    input logic [                63:0] now_i,
    input logic [                31:0] pick_i,       // constant
    input logic [                 7:0] where_i,      // constant
    input logic [                 7:0] card_id_i,
    input logic [                15:0] node_id_i,
    input logic [                15:0] ring_size_i,
    input logic [FAULT_PORT_WIDTH-1:0] fault_i,
    input logic [           3:0][63:0] rx_data_i,
    input logic [           3:0][ 7:0] rx_ctl_i,
    input logic [           3:0][63:0] tx_data_i,
    input logic [           3:0][ 7:0] tx_ctl_i,
    input logic                        mtx_valid_i,
    input logic                        mtx_sof_i,
    input logic                        mtx_eof_i,
    input logic [                63:0] mtx_data_i,
    input logic                        mtx_ready_i,
    input logic [           3:0][63:0] mrx_data_i,
    input logic [           3:0][ 3:0] mrx_ctl_i,
    input logic                        reg_we_i,
    input logic [                 7:0] reg_addr_i,
    input logic [                31:0] reg_wdata_i,
    input logic [                31:0] reg_rdata_i,
    input logic                        quiescent_i,
    input logic [                63:0] wake_at_i
