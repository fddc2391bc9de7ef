// Starts `ringhil step --dap` for a debug session. All else is VS Code's own debugger.
"use strict";
const vscode = require("vscode");

/** The adapter runs in the session's folder, where modules of firmware are found. */
class Factory {
  createDebugAdapterDescriptor(session) {
    const folder = session.workspaceFolder;
    const command = vscode.workspace.getConfiguration("ringhil", folder).get("command", "ringhil");
    const options = folder === undefined ? {} : { cwd: folder.uri.fsPath };
    return new vscode.DebugAdapterExecutable(command, ["step", "--dap"], options);
  }
}

exports.activate = (context) => {
  context.subscriptions.push(vscode.debug.registerDebugAdapterDescriptorFactory("ringhil", new Factory()));
};

exports.deactivate = () => {};
