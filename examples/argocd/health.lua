-- How Argo CD judges VMDiskImages, VirtualMachines, DataSyncs, Workspaces and WorkspaceSnapshots: see docs/gitops.md.
local status = obj.status or {}

local function is(name)
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == name and condition.status == "True" then
      return true
    end
  end
  return false
end

local function verdict()
  if status.observedGeneration == nil or status.observedGeneration ~= obj.metadata.generation then
    return "Progressing", "the operator has not seen this spec yet"
  end
  if is("Stalled") or status.phase == "Failed" then
    return "Degraded"
  end
  if is("Ready") and not is("Reconciling") then
    return "Healthy"
  end
  if is("Settled") and not is("Ready") then
    return "Degraded"
  end
  return "Progressing"
end

local hs = {}
local says
hs.status, says = verdict()
hs.message = says or (status.reason or "") .. ": " .. (status.message or "")
return hs
